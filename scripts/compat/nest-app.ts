// The application of docs/guides/nestjs.md, compiled as Nest compiles it. It prints `order 7` and `tested`.
import 'reflect-metadata'
import { Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { timer, type TimerFiring, type TimersApi } from 'carillon'
import { CarillonModule, Timer, TIMERS } from 'carillon/nest'
import { testTimers } from 'carillon/testing'

const remind = timer<{ orderId: string }>('remind')

@Injectable()
class Orders {
  constructor(@Inject(TIMERS) private readonly timers: TimersApi) {}

  async place(orderId: string): Promise<void> {
    await this.timers.set(remind, orderId, { in: '3d', payload: { orderId } })
  }

  @Timer(remind)
  async remind(firing: TimerFiring<{ orderId: string }>): Promise<void> {
    console.log(`order ${firing.payload.orderId}`)
  }
}

@Module({
  imports: [CarillonModule.forRoot({ store: 'memory:' })],
  providers: [Orders],
})
class AppModule {}

{
  const timers = await testTimers()
  const app = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(TIMERS)
    .useValue(timers)
    .compile()
  await app.init()
  await app.get(Orders).place('7')
  await timers.advance('3d')
  await app.close()
}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
const timers = app.get<TimersApi>(TIMERS)
await timers.set(remind, '8', { in: 0, payload: { orderId: '8' } })
while ((await timers.get(remind, '8'))?.state !== 'settled')
  await new Promise((resolve) => setTimeout(resolve, 50))
await app.close()
console.log('tested')
