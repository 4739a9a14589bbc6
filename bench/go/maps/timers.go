package main

import "sync"

const secondTicks = 1000

// Timers is a timer of maps and a mutex: one map from the key to the second it is due, one from the second to
// the keys due then. Every second takes the map of that second. Both are changed under one lock, because
// setting and firing come from different goroutines.
type Timers[K comparable] struct {
	lock     sync.Mutex
	byKey    map[K]entry
	bySecond map[int32]map[K]struct{}
	second   int32
	fire     func(token int32)
}

type entry struct{ second, token int32 }

func NewTimers[K comparable](fire func(token int32)) *Timers[K] {
	return &Timers[K]{byKey: map[K]entry{}, bySecond: map[int32]map[K]struct{}{}, fire: fire}
}

func (t *Timers[K]) Set(key K, token, dueTick int32) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if known, ok := t.byKey[key]; ok {
		t.drop(key, known.second)
	}
	t.put(key, token, dueTick)
}

func (t *Timers[K]) Move(key K, dueTick int32) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	known, ok := t.byKey[key]
	if !ok {
		return false
	}
	t.drop(key, known.second)
	t.put(key, known.token, dueTick)
	return true
}

func (t *Timers[K]) Cancel(key K) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	known, ok := t.byKey[key]
	if !ok {
		return false
	}
	t.drop(key, known.second)
	delete(t.byKey, key)
	return true
}

func (t *Timers[K]) Tick() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.second++
	for key := range t.bySecond[t.second] {
		token := t.byKey[key].token
		delete(t.byKey, key)
		t.fire(token)
	}
	delete(t.bySecond, t.second)
}

func (t *Timers[K]) put(key K, token, dueTick int32) {
	// Up, so that nothing fires early.
	second := (dueTick + secondTicks - 1) / secondTicks
	t.byKey[key] = entry{second, token}
	keys, ok := t.bySecond[second]
	if !ok {
		keys = map[K]struct{}{}
		t.bySecond[second] = keys
	}
	keys[key] = struct{}{}
}

func (t *Timers[K]) drop(key K, second int32) {
	keys := t.bySecond[second]
	delete(keys, key)
	if len(keys) == 0 {
		delete(t.bySecond, second)
	}
}
