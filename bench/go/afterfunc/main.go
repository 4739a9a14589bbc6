// Go's own timers, time.AfterFunc. They follow the machine's clock, so setting, moving and stopping is done an
// hour ahead of time, where nothing fires meanwhile, and firing is measured by a burst of timers that are all
// due at one moment, from the first call to the last. Usage: afterfunc n seed.
package main

import (
	"sync"
	"sync/atomic"
	"time"

	"carillon/bench/script"
)

const (
	warmUpTimers = 50_000
	// Long enough to set all timers of a burst before it is due.
	burstSetting = time.Microsecond
	burstLead    = 200 * time.Millisecond
)

func main() {
	n, seed := script.Task()
	m := script.NewMeasurement()
	s := script.New(n, seed)
	memory(s, m)
	if n > warmUpTimers {
		measure(script.New(warmUpTimers, seed), script.NewMeasurement())
	}
	measure(s, m)
	m.Note("move is Reset; live fire is a burst of timers due at one moment, each in its goroutine, first call to last")
	m.Note("cancel of half stale timers, and ticks, cannot be had in simulated time")
	m.Print()
}

func delayOf(tick int32) time.Duration {
	return time.Hour + time.Duration(tick)*time.Millisecond
}

func setAll(s *script.Script, fire func(int32), timers []*time.Timer) {
	for i := range timers {
		token := int32(i)
		timers[i] = time.AfterFunc(delayOf(s.DueTicks[i]), func() { fire(token) })
	}
}

func memory(s *script.Script, m *script.Measurement) {
	timers := make([]*time.Timer, s.N)
	// Touched, or its pages would count as memory of the timers.
	none := &time.Timer{}
	for i := range timers {
		timers[i] = none
	}
	before := script.ReadMemory()
	setAll(s, func(int32) {}, timers)
	m.Memory(before, script.ReadMemory(), s.N)
	for _, timer := range timers {
		timer.Stop()
	}
}

func measure(s *script.Script, m *script.Measurement) {
	n := s.N
	var pauses script.Pauses
	ignore := func(int32) {}
	timers := make([]*time.Timer, n)
	shuffled := make([]*time.Timer, n)
	m.NsEach("add", pauses.Time(func() { setAll(s, ignore, timers) }), n)
	for i, at := range s.Order {
		shuffled[i] = timers[at]
	}
	m.NsEach("move", pauses.Time(func() {
		for i, tick := range s.MovedTo {
			shuffled[i].Reset(delayOf(tick))
		}
	}), len(s.MovedTo))
	m.NsEach("live cancel", pauses.Time(func() { stopAll(shuffled) }), n)
	m.NsEach("re-add", pauses.Time(func() { setAll(s, ignore, timers) }), n)
	stopAll(timers)
	took, tally := burst(n)
	m.NsEach("live fire", took, n)
	m.Checks["fired of all"] = float64(tally.Count)
	m.Checks["tokens of all"] = float64(tally.Tokens)
	m.Pauses(&pauses)
}

func stopAll(timers []*time.Timer) {
	for _, timer := range timers {
		timer.Stop()
	}
}

func burst(n int) (time.Duration, script.Tally) {
	var first, last int64
	var count, tokens int32
	var done sync.WaitGroup
	done.Add(1)
	start := time.Now()
	fire := func(token int32) {
		atomic.AddInt32(&tokens, token)
		switch atomic.AddInt32(&count, 1) {
		case 1:
			atomic.StoreInt64(&first, int64(time.Since(start)))
		case int32(n):
			atomic.StoreInt64(&last, int64(time.Since(start)))
			done.Done()
		}
	}
	due := start.Add(burstLead + time.Duration(n)*burstSetting)
	for i := 0; i < n; i++ {
		token := int32(i)
		time.AfterFunc(time.Until(due), func() { fire(token) })
	}
	done.Wait()
	return time.Duration(last - first), script.Tally{Count: int(count), Tokens: tokens}
}
