import 'reflect-metadata'
import { Inject, Injectable, Module, Scope } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { describe, expect, it } from 'vitest'
import { timer, type TimerFiring, type TimersApi } from '../../src/index.js'
import { CarillonModule, type CarillonModuleOptions, Timer, TIMERS } from '../../src/nest/index.js'
import { testTimers } from '../../src/testing/index.js'

const remind = timer<{ orderId: string }>('remind')
const sweep = timer('sweep')

class Reminders {
  readonly sent: string[] = []
  readonly timers: TimersApi

  constructor(timers: TimersApi) {
    this.timers = timers
  }

  async order(orderId: string): Promise<void> {
    await this.timers.set(remind, orderId, { in: '3d', payload: { orderId } })
  }

  remind(firing: TimerFiring<{ orderId: string }>): void {
    this.sent.push(firing.payload.orderId)
  }
}

/** A class like any of an application. The decorators are applied by hand, because the tests are compiled without them. */
function remindersIn(scope = Scope.DEFAULT): typeof Reminders {
  class Own extends Reminders {}
  Injectable({ scope })(Own)
  Inject(TIMERS)(Own, undefined, 0)
  return Own
}
Timer(remind)(Reminders.prototype, 'remind', descriptorOf(Reminders.prototype, 'remind'))

function appOf(providers: never[], options: CarillonModuleOptions): new () => object {
  class AppModule {}
  Module({ imports: [CarillonModule.forRoot(options) as never], providers })(AppModule)
  return AppModule
}

describe('the NestJS module', () => {
  it('injects timers, gives firings to methods with @Timer, and follows the life of the application', async () => {
    const Own = remindersIn()
    const timers = await testTimers()
    const testing = Test.createTestingModule({ imports: [appOf([Own as never], { store: 'memory:' })] })
    const app = await testing.overrideProvider(TIMERS).useValue(timers).compile()
    const reminders = app.get(Own)
    await reminders.order('7')
    await app.init()
    await timers.advance('3d')
    expect(reminders.sent).toEqual(['7'])
    await app.close()
    await expect(reminders.order('8')).rejects.toMatchObject({ code: 'stopped' })
  })

  it('opens timers with options that another provider gives, and only sets with start: false', async () => {
    class AppModule {}
    const module = CarillonModule.forRootAsync({
      inject: ['url'] as const,
      imports: [configuration()],
      useFactory: (store: string) => ({ store, start: false, logger: false }),
    })
    Module({ imports: [module as never], providers: [remindersIn() as never] })(AppModule)
    const app = await Test.createTestingModule({ imports: [AppModule] }).compile()
    await app.init()
    const timers = app.get<TimersApi>(TIMERS)
    await timers.set(sweep, 'a', { in: 0 })
    expect((await timers.get(sweep, 'a'))?.state).toBe('waiting')
    await app.close()
  })

  it.each([
    ['a provider that is made for each request', [remindersIn(Scope.REQUEST)], /Own\.remind .*each request/],
    [
      'two handlers for one kind',
      [remindersIn(), class extends remindersIn() {}],
      /both handle the kind remind/,
    ],
  ])('refuses %s', async (_, classes, message) => {
    const providers = classes.map((useClass, index) => ({
      provide: `reminders ${index}`,
      useClass,
      scope: scopeOf(useClass),
    }))
    const imports = [appOf(providers as never[], { store: 'memory:', logger: false })]
    const app = await Test.createTestingModule({ imports }).compile()
    app.useLogger(false)
    await expect(app.init()).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringMatching(message) as unknown,
    })
    await app.close()
  })

  it('refuses @Timer on a static method and with an unknown option', () => {
    const decorate = Timer(sweep)
    expect(() => decorate(Reminders, 'name', {})).toThrow(/methods of instances/)
    expect(() => Timer(sweep, { transactional: true } as never)).toThrow(/transactional/)
  })
})

function configuration(): new () => object {
  class ConfigurationModule {}
  Module({ providers: [{ provide: 'url', useValue: 'memory:' }], exports: ['url'] })(ConfigurationModule)
  return ConfigurationModule
}

function scopeOf(type: object): Scope | undefined {
  return (Reflect.getMetadata('scope:options', type) as { scope?: Scope } | undefined)?.scope
}

function descriptorOf<Type extends object, Name extends keyof Type>(
  type: Type,
  name: Name,
): TypedPropertyDescriptor<Type[Name]> {
  return Object.getOwnPropertyDescriptor(type, name) as TypedPropertyDescriptor<Type[Name]>
}
