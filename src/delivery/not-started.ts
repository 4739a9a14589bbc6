/** The promise of a handler rejects with it if the attempt did not start: then nothing is reported. */
export class NotStarted extends Error {
  constructor() {
    super('this attempt did not start')
    this.name = 'NotStarted'
  }
}
