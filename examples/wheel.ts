// The wheel itself: integer ticks and entry handles, no clock. You decide what a tick is, and when to advance.
import { Wheel } from 'carillon/wheel'

const names = ['near', 'moved', 'cancelled', 'far']
const wheel = new Wheel()

wheel.set(10, 0)
const moved = wheel.set(20, 1)
const cancelled = wheel.set(30, 2)
wheel.set(70, 3)

wheel.move(moved, 40)
console.log('cancel:', wheel.cancel(cancelled), 'and once more:', wheel.cancel(cancelled))

while (wheel.size > 0) {
  wheel.advance(wheel.nextDue()!, (token, dueTick) => {
    console.log(
      `tick ${dueTick}: "${names[token]}" fires, ${wheel.size === 0 ? 'nothing' : wheel.size} is left`,
    )
  })
}
