/** `carillon/nest`: timers in a NestJS application. Nest is loaded by `CarillonModule.forRoot`, not by the import. */
export {
  CarillonModule,
  type CarillonModuleAsyncOptions,
  type CarillonModuleOptions,
  type NestModule,
  TIMERS,
} from './carillon-module.js'
export { Timer, type TimerMethod, type TimerMethodOptions } from './timer-decorator.js'
