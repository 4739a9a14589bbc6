// A timer of Go's maps and a mutex, measured with integer keys for the wheel bench and with strings for the
// keyed one. Its ticks are a second long. Usage: maps wheel|keyed n seed.
package main

import (
	"fmt"
	"os"
	"runtime"

	"carillon/bench/script"
)

const (
	warmUpTimers = 50_000
	lapOps       = 256
)

func main() {
	n, seed := script.Task()
	s := script.New(n, seed)
	switch os.Args[1] {
	case "wheel":
		keys := make([]int64, n)
		for i := range keys {
			keys[i] = int64(i)
		}
		shuffled := make([]int64, n)
		for i, at := range s.Order {
			shuffled[i] = keys[at]
		}
		run(s, keys, shuffled, wheelNames)
	case "keyed":
		keys := s.Keys()
		run(s, keys, s.Shuffled(keys), keyedNames)
	default:
		panic("want wheel or keyed, got " + os.Args[1])
	}
}

// The two benches do the same and call it differently.
type names struct{ set, setAgain, half, all, debt, fireAll string }

var wheelNames = names{"add", "re-add", "cancel", "live cancel", "cancel debt", "live fire"}
var keyedNames = names{"set", "re-set", "half remove", "remove", "", ""}

func run[K comparable](s *script.Script, keys, shuffled []K, called names) {
	m := script.NewMeasurement()
	memory(s, keys, m)
	warmUp := script.New(warmUpTimers, 1)
	if s.N > warmUpTimers {
		passes(warmUp, keys[:warmUpTimers], keys[:warmUpTimers], called, script.NewMeasurement())
	}
	passes(s, keys, shuffled, called, m)
	m.Print()
}

func memory[K comparable](s *script.Script, keys []K, m *script.Measurement) {
	before := script.ReadMemory()
	timers := NewTimers[K](func(int32) {})
	for i, key := range keys {
		timers.Set(key, int32(i), s.DueTicks[i])
	}
	m.Memory(before, script.ReadMemory(), s.N)
	runtime.KeepAlive(timers)
}

func passes[K comparable](s *script.Script, keys, shuffled []K, called names, m *script.Measurement) {
	n := s.N
	var pauses script.Pauses
	var ops, ticks script.Laps

	runtime.GC()
	var half script.Tally
	timers := NewTimers[K](half.Fire)
	m.NsEach(called.set, pauses.Time(func() { setAll(timers, s, keys, 0, &ops) }), n)
	m.NsEach("move", pauses.Time(func() {
		ops.Start()
		for i, tick := range s.MovedTo {
			timers.Move(shuffled[i], tick)
			if i%lapOps == lapOps-1 {
				ops.Mark()
			}
		}
	}), len(s.MovedTo))
	m.NsEach("fire", pauses.Time(func() {
		ticks.Start()
		for tick := secondTicks; tick <= script.HorizonTicks/2; tick += secondTicks {
			timers.Tick()
			ticks.Mark()
		}
	}), half.Count)
	cancelled := 0
	m.NsEach(called.half, pauses.Time(func() { cancelled = cancelAll(timers, shuffled, &ops) }), n)
	m.NsEach(called.setAgain, pauses.Time(func() { setAll(timers, s, keys, script.HorizonTicks/2, &ops) }), n)
	m.Checks["fired of half"] = float64(half.Count)
	m.Checks["tokens of half"] = float64(half.Tokens)
	m.Checks["cancelled after half"] = float64(cancelled)

	var none script.Tally
	timers = NewTimers[K](none.Fire)
	runtime.GC()
	setAll(timers, s, keys, 0, &ops)
	m.NsEach(called.all, pauses.Time(func() { cancelled = cancelAll(timers, shuffled, &ops) }), n)
	m.Checks["cancelled of all"] = float64(cancelled)
	if called.debt != "" {
		m.NsEach(called.debt, pauses.Time(func() { tickAll(timers) }), n)
	}

	if called.fireAll != "" {
		var all script.Tally
		timers = NewTimers[K](all.Fire)
		runtime.GC()
		setAll(timers, s, keys, 0, &ops)
		m.NsEach(called.fireAll, pauses.Time(func() { tickAll(timers) }), n)
		m.Checks["fired of all"] = float64(all.Count)
		m.Checks["tokens of all"] = float64(all.Tokens)
	} else {
		delete(m.Metrics, "bytes")
		m.Metrics["set+remove"] = m.Metrics[called.set] + m.Metrics[called.all]
		m.Metrics["pause+gc"] = ops.Worst.Seconds() * 1e3
	}
	m.Pauses(&pauses)
	average := ticks.Total.Seconds() * 1e3 / float64(ticks.Count)
	m.Note(fmt.Sprintf("its ticks are %d ms long: %.2f ms on average, %.2f ms at worst",
		secondTicks, average, ticks.Worst.Seconds()*1e3))
}

func setAll[K comparable](timers *Timers[K], s *script.Script, keys []K, now int32, ops *script.Laps) {
	ops.Start()
	for i, key := range keys {
		timers.Set(key, int32(i), now+s.DueTicks[i])
		if i%lapOps == lapOps-1 {
			ops.Mark()
		}
	}
}

func cancelAll[K comparable](timers *Timers[K], keys []K, ops *script.Laps) int {
	cancelled := 0
	ops.Start()
	for i, key := range keys {
		if timers.Cancel(key) {
			cancelled++
		}
		if i%lapOps == lapOps-1 {
			ops.Mark()
		}
	}
	return cancelled
}

func tickAll[K comparable](timers *Timers[K]) {
	for tick := 0; tick < script.HorizonTicks; tick += secondTicks {
		timers.Tick()
	}
}
