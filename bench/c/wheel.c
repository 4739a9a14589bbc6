/*
 * The limit: a hierarchical wheel of chunked vectors in C, on the passes of bench/wheel.ts. It is the kind of
 * structure our wheel is, without what a library owes its users: ticks are of 32 bits, nothing is checked, an
 * idle stretch is walked tick by tick and cancelled entries wait for their slot. Usage: wheel n seed.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LEVELS = 4, LEVEL_BITS = 8, RING = 512, CHUNK_ENTRIES = 15, HORIZON = 60000, WARM_UP_TIMERS = 50000 };
static const uint32_t ARMED = 1u << 31;

typedef struct {
  uint32_t due, state, token; /* state: generation, and ARMED while pending */
} Record;

typedef struct {
  uint32_t index, due;
} Entry;

typedef struct {
  uint32_t next, unused;
  Entry entries[CHUNK_ENTRIES];
} Chunk;

typedef struct {
  uint32_t first, last, fill, chunks;
} Slot;

/* A level is a ring of two blocks, the current and the next, so that the next one can be filled from its parent
   slot a little at each tick and no tick pays for a whole block. */
typedef struct {
  Record *records;
  uint64_t *free; /* one bit a record; swept upward, so that neighbours are handed out together */
  Chunk *chunks;
  Slot slots[LEVELS][RING];
  uint64_t open;
  size_t word, words, freed;
  uint32_t top, pool, now;
  void (*fire)(uint32_t token);
} Wheel;

static const size_t RESERVED = (size_t)1 << 36;

static void *reserve(void) {
  void *at = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  return at;
}

static Wheel *wheel_open(void (*fire)(uint32_t)) {
  Wheel *w = calloc(1, sizeof *w);
  w->records = reserve();
  w->free = reserve();
  w->chunks = reserve();
  w->word = (size_t)-1;
  w->top = 1; /* chunk 0 means none */
  w->fire = fire;
  return w;
}

static void wheel_close(Wheel *w) {
  munmap(w->records, RESERVED);
  munmap(w->free, RESERVED);
  munmap(w->chunks, RESERVED);
  free(w);
}

static size_t wheel_bytes(const Wheel *w) {
  return w->words * (64 * sizeof(Record) + sizeof(uint64_t)) + w->top * sizeof(Chunk) + sizeof *w;
}

static uint32_t chunk_take(Wheel *w) {
  uint32_t c = w->pool;
  if (c == 0) return w->top++;
  w->pool = w->chunks[c].next;
  return c;
}

static void chunk_give(Wheel *w, uint32_t c) {
  w->chunks[c].next = w->pool;
  w->pool = c;
}

static void place(Wheel *w, uint32_t index, uint32_t due) {
  int level = 0, shift = LEVEL_BITS;
  while (level < LEVELS - 1 && (due >> shift) - (w->now >> shift) > 1) level++, shift += LEVEL_BITS;
  Slot *slot = &w->slots[level][(due >> (shift - LEVEL_BITS)) & (RING - 1)];
  if (slot->last == 0 || slot->fill == CHUNK_ENTRIES) {
    uint32_t c = chunk_take(w);
    w->chunks[c].next = 0;
    if (slot->last == 0) slot->first = c;
    else w->chunks[slot->last].next = c;
    slot->last = c;
    slot->fill = 0;
    slot->chunks++;
  }
  w->chunks[slot->last].entries[slot->fill++] = (Entry){index, due};
}

static void find_free(Wheel *w) {
  do {
    if (++w->word >= w->words) {
      /* Sweep again only when that finds enough to be worth it. */
      if (w->freed * 8 > w->words * 64) w->word = 0;
      else {
        w->word = w->words++;
        w->free[w->word] = ~(uint64_t)0;
        w->freed += 64;
      }
    }
    w->open = w->free[w->word];
  } while (w->open == 0);
  w->free[w->word] = 0;
  w->freed -= (size_t)__builtin_popcountll(w->open);
}

static uint64_t wheel_set(Wheel *w, uint32_t due, uint32_t token) {
  if (w->open == 0) find_free(w);
  uint32_t index = (uint32_t)(w->word * 64) + (uint32_t)__builtin_ctzll(w->open);
  w->open &= w->open - 1;
  Record *r = &w->records[index];
  r->due = due;
  r->token = token;
  r->state |= ARMED;
  place(w, index, due);
  return (uint64_t)r->state << 32 | index;
}

static int wheel_move(Wheel *w, uint64_t handle, uint32_t due) {
  Record *r = &w->records[(uint32_t)handle];
  if (r->state != handle >> 32) return 0;
  if (r->due == due) return 1;
  r->due = due;
  place(w, (uint32_t)handle, due);
  return 1;
}

static void release(Wheel *w, Record *r, uint32_t index) {
  r->state = (r->state + 1) & ~ARMED;
  w->free[index / 64] |= (uint64_t)1 << index % 64;
  w->freed++;
}

static int wheel_cancel(Wheel *w, uint64_t handle) {
  Record *r = &w->records[(uint32_t)handle];
  if (r->state != handle >> 32) return 0;
  release(w, r, (uint32_t)handle);
  return 1;
}

/* Moves up to `budget` chunks of a slot one level down. */
static void drain(Wheel *w, Slot *slot, uint32_t budget) {
  while (slot->first != 0 && budget-- > 0) {
    uint32_t c = slot->first, fill = c == slot->last ? slot->fill : CHUNK_ENTRIES;
    for (uint32_t k = 0; k < fill; k++) place(w, w->chunks[c].entries[k].index, w->chunks[c].entries[k].due);
    slot->first = w->chunks[c].next;
    slot->chunks--;
    chunk_give(w, c);
  }
  if (slot->first == 0) memset(slot, 0, sizeof *slot);
}

static void fire_slot(Wheel *w, Slot *slot, uint32_t tick) {
  Slot taken = *slot;
  memset(slot, 0, sizeof *slot);
  for (uint32_t c = taken.first; c != 0;) {
    Chunk *chunk = &w->chunks[c];
    uint32_t fill = c == taken.last ? taken.fill : CHUNK_ENTRIES;
    for (uint32_t k = 0; k < fill; k++) {
      uint32_t index = chunk->entries[k].index;
      Record *r = &w->records[index];
      if ((r->state & ARMED) == 0 || r->due != tick) continue;
      release(w, r, index);
      w->fire(r->token);
    }
    uint32_t next = chunk->next;
    chunk_give(w, c);
    c = next;
  }
}

static void wheel_advance(Wheel *w, uint32_t until) {
  while (w->now < until) {
    uint32_t tick = ++w->now;
    for (int level = LEVELS - 1; level > 0; level--) {
      uint32_t shift = (uint32_t)level * LEVEL_BITS, block = tick >> shift, past = tick & ((1u << shift) - 1);
      if (past == 0) drain(w, &w->slots[level][block & (RING - 1)], UINT32_MAX);
      Slot *next = &w->slots[level][(block + 1) & (RING - 1)];
      if (next->first != 0) drain(w, next, 1 + next->chunks / ((1u << shift) - past));
    }
    fire_slot(w, &w->slots[0][tick & (RING - 1)], tick);
  }
}

/* The workload, as in bench/workload/script.ts. */

typedef struct {
  uint32_t n, moves, *due, *moved_to, *order;
} Script;

static uint32_t random_state;

static uint32_t random_below(uint32_t limit) {
  uint32_t s = random_state;
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  random_state = s;
  return (uint32_t)(s / 4294967296.0 * limit);
}

static Script script_new(uint32_t n, uint32_t seed) {
  Script s = {n, n / 5, malloc(4ul * n), malloc(4ul * n), malloc(4ul * n)};
  random_state = seed;
  for (uint32_t i = 0; i < n; i++) s.due[i] = 1 + random_below(HORIZON);
  for (uint32_t i = 0; i < s.moves; i++) s.moved_to[i] = 1 + random_below(HORIZON);
  for (uint32_t i = 0; i < n; i++) s.order[i] = i;
  for (uint32_t i = n - 1; i > 0; i--) {
    uint32_t j = random_below(i + 1), kept = s.order[i];
    s.order[i] = s.order[j];
    s.order[j] = kept;
  }
  return s;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double resident_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static uint32_t fired;
static uint32_t tokens;

static void tally(uint32_t token) {
  fired++;
  tokens += token;
}

typedef struct {
  double add, add_again, move, fire, cancel, tick_worst, live_cancel, debt, live_fire, live_tick_worst;
  uint32_t half_fired, half_tokens, half_cancelled, all_fired, all_tokens, all_cancelled;
} Result;

static double add_all(Wheel *w, const Script *s, uint32_t now, uint64_t *handles) {
  double from = now_ns();
  for (uint32_t i = 0; i < s->n; i++) handles[i] = wheel_set(w, now + s->due[i], i);
  return now_ns() - from;
}

static double cancel_all(Wheel *w, uint32_t n, const uint64_t *handles, uint32_t *cancelled) {
  double from = now_ns();
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += (uint32_t)wheel_cancel(w, handles[i]);
  *cancelled = count;
  return now_ns() - from;
}

static double advance_to(Wheel *w, uint32_t until, double *worst) {
  double from = now_ns(), last = from;
  *worst = 0;
  for (uint32_t tick = 1; tick <= until; tick++) {
    wheel_advance(w, tick);
    double at = now_ns();
    if (at - last > *worst) *worst = at - last;
    last = at;
  }
  return last - from;
}

static void shuffle(const Script *s, const uint64_t *handles, uint64_t *shuffled, uint32_t from, uint32_t until) {
  for (uint32_t i = from; i < until; i++) shuffled[i] = handles[s->order[i]];
}

static Result passes(const Script *s, uint64_t *handles, uint64_t *shuffled) {
  Result r;
  double unused;
  Wheel *w = wheel_open(tally);
  fired = tokens = 0;
  r.add = add_all(w, s, 0, handles);
  shuffle(s, handles, shuffled, 0, s->moves);
  double from = now_ns();
  for (uint32_t i = 0; i < s->moves; i++) wheel_move(w, shuffled[i], s->moved_to[i]);
  r.move = now_ns() - from;
  r.fire = advance_to(w, HORIZON / 2, &r.tick_worst);
  r.half_fired = fired;
  r.half_tokens = tokens;
  shuffle(s, handles, shuffled, s->moves, s->n);
  r.cancel = cancel_all(w, s->n, shuffled, &r.half_cancelled);
  r.add_again = add_all(w, s, HORIZON / 2, handles);
  wheel_close(w);

  w = wheel_open(tally);
  add_all(w, s, 0, handles);
  shuffle(s, handles, shuffled, 0, s->n);
  r.live_cancel = cancel_all(w, s->n, shuffled, &r.all_cancelled);
  r.debt = advance_to(w, HORIZON, &unused);
  wheel_close(w);

  w = wheel_open(tally);
  fired = tokens = 0;
  add_all(w, s, 0, handles);
  r.live_fire = advance_to(w, HORIZON, &r.live_tick_worst);
  r.all_fired = fired;
  r.all_tokens = tokens;
  wheel_close(w);
  return r;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  uint32_t n = (uint32_t)strtoul(argv[1], NULL, 10), seed = (uint32_t)strtoul(argv[2], NULL, 10);
  Script s = script_new(n, seed);
  uint64_t *handles = malloc(8ul * n), *shuffled = malloc(8ul * n);
  memset(handles, 1, 8ul * n);
  memset(shuffled, 1, 8ul * n);

  double before = resident_bytes();
  Wheel *w = wheel_open(tally);
  add_all(w, &s, 0, handles);
  double bytes = (double)wheel_bytes(w), resident = resident_bytes() - before;
  wheel_close(w);

  if (n > WARM_UP_TIMERS) {
    Script warm_up = script_new(WARM_UP_TIMERS, seed);
    passes(&warm_up, handles, shuffled);
  }
  Result r = passes(&s, handles, shuffled);
  printf("{\"metrics\":{\"add\":%f,\"re-add\":%f,\"move\":%f,\"fire\":%f,\"cancel\":%f,", r.add / n, r.add_again / n,
         r.move / s.moves, r.fire / r.half_fired, r.cancel / n);
  printf("\"tick avg\":%f,\"tick worst\":%f,", r.fire / (HORIZON / 2) / 1e3, r.tick_worst / 1e3);
  printf("\"live cancel\":%f,\"cancel debt\":%f,\"live fire\":%f,\"live tick worst\":%f,", r.live_cancel / n,
         r.debt / n, r.live_fire / n, r.live_tick_worst / 1e3);
  printf("\"bytes\":%f,\"resident\":%f},", bytes / n, resident / n);
  printf("\"checks\":{\"fired of half\":%u,\"tokens of half\":%d,\"cancelled after half\":%u,", r.half_fired,
         (int32_t)r.half_tokens, r.half_cancelled);
  printf("\"cancelled of all\":%u,\"fired of all\":%u,\"tokens of all\":%d},\"notes\":[]}\n", r.all_cancelled,
         r.all_fired, (int32_t)r.all_tokens);
  return 0;
}
