// Package script repeats bench/workload in Go: the same random sequence, the same definition of every figure,
// and a measurement printed as the JSON that the harness reads.
package script

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const HorizonTicks = 60_000

type Random struct{ state uint32 }

func (r *Random) Bits() uint32 {
	s := r.state
	s ^= s << 13
	s ^= s >> 17
	s ^= s << 5
	r.state = s
	return s
}

func (r *Random) Below(limit int) int {
	return int(math.Floor(float64(r.Bits()) / 4294967296 * float64(limit)))
}

// Script is what is done to the timers: due ticks, moves, and the order of cancelling.
type Script struct {
	N        int
	DueTicks []int32
	MovedTo  []int32
	Order    []int32
	Random   Random
}

func New(n int, seed uint32) *Script {
	s := &Script{
		N:        n,
		DueTicks: make([]int32, n),
		MovedTo:  make([]int32, n/5),
		Order:    make([]int32, n),
		Random:   Random{seed},
	}
	for i := range s.DueTicks {
		s.DueTicks[i] = int32(1 + s.Random.Below(HorizonTicks))
	}
	for i := range s.MovedTo {
		s.MovedTo[i] = int32(1 + s.Random.Below(HorizonTicks))
	}
	for i := range s.Order {
		s.Order[i] = int32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := s.Random.Below(i + 1)
		s.Order[i], s.Order[j] = s.Order[j], s.Order[i]
	}
	return s
}

// Keys are of 20 characters, each in memory of its own.
func (s *Script) Keys() []string {
	keys := make([]string, s.N)
	for i := range keys {
		keys[i] = fmt.Sprintf("%08xtmr-%08x", s.Random.Bits(), i)
	}
	return keys
}

// Shuffled copies keys in the order of cancelling: equal to those that were set, not identical.
func (s *Script) Shuffled(keys []string) []string {
	copies := make([]string, len(keys))
	for i, at := range s.Order {
		copies[i] = strings.Clone(keys[at])
	}
	return copies
}

// Tally counts what fires and adds up its tokens in 32 bits.
type Tally struct {
	Count  int
	Tokens int32
}

func (t *Tally) Fire(token int32) {
	t.Count++
	t.Tokens += token
}

// Pauses are the stop-the-world pauses of the collector inside what was timed.
type Pauses struct{ worst, total uint64 }

func (p *Pauses) Time(work func()) time.Duration {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := time.Now()
	work()
	took := time.Since(from)
	runtime.ReadMemStats(&after)
	p.total += after.PauseTotalNs - before.PauseTotalNs
	for gc := before.NumGC + 1; gc <= after.NumGC; gc++ {
		if pause := after.PauseNs[(gc+255)%256]; pause > p.worst {
			p.worst = pause
		}
	}
	return took
}

// Laps keeps the longest stretch between two marks.
type Laps struct {
	last         time.Time
	Worst, Total time.Duration
	Count        int
}

func (l *Laps) Start() { l.last = time.Now() }

func (l *Laps) Mark() {
	now := time.Now()
	lap := now.Sub(l.last)
	l.last = now
	l.Total += lap
	l.Count++
	if lap > l.Worst {
		l.Worst = lap
	}
}

type Memory struct{ held, resident float64 }

func ReadMemory() Memory {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Memory{float64(stats.HeapAlloc), residentBytes()}
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	pages, _ := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize())
}

type Measurement struct {
	Metrics map[string]float64 `json:"metrics"`
	Checks  map[string]float64 `json:"checks"`
	Notes   []string           `json:"notes"`
}

func NewMeasurement() *Measurement {
	return &Measurement{map[string]float64{}, map[string]float64{}, []string{}}
}

func (m *Measurement) NsEach(name string, took time.Duration, count int) {
	m.Metrics[name] = float64(took.Nanoseconds()) / float64(count)
}

func (m *Measurement) Memory(before, after Memory, n int) {
	m.Metrics["bytes"] = (after.held - before.held) / float64(n)
	if after.resident > 0 {
		m.Metrics["resident"] = math.Max(0, after.resident-before.resident) / float64(n)
	}
}

func (m *Measurement) Pauses(p *Pauses) {
	m.Metrics["gc worst"] = float64(p.worst) / 1e6
	m.Metrics["gc total"] = float64(p.total) / 1e6
	m.Note("its gc figures are stop-the-world pauses: Go marks beside the program, on another core if there is one")
}

func (m *Measurement) Note(sentence string) { m.Notes = append(m.Notes, sentence) }

func (m *Measurement) Print() {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// Task reads n and the seed, the last two arguments.
func Task() (int, uint32) {
	args := os.Args[len(os.Args)-2:]
	n, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	seed, err := strconv.ParseUint(args[1], 10, 32)
	if err != nil {
		panic(err)
	}
	return n, uint32(seed)
}
