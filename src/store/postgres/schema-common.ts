import { type OperationAnswer } from '../store.js'

/** The outcomes of operations by the numbers that the functions in the database speak of them with. */
export const outcomes = [
  'set',
  'same',
  'moved',
  'cancelled',
  'conflict',
  'unknown',
  'firing',
  'settled',
  'below-level',
  'answered-before',
  'expired',
] as const satisfies readonly OperationAnswer['outcome'][]

/** The number of an outcome, for SQL. */
export function outcomeNumber(outcome: OperationAnswer['outcome']): number {
  return outcomes.indexOf(outcome)
}

/** What kinds of operations there are, by number. */
export const operationNumbers = Object.freeze({ set: 0, move: 1, cancel: 2, answer: 3 })

/** SQLSTATEs of what the functions refuse. */
export const refusals = Object.freeze({
  fenced: 'CA001',
  'invalid-level': 'CA002',
  'invalid-option': 'CA003',
  'inbox-first': 'CA004',
})

/**
 * Settings of a function whose statements look single rows up by index. Their plans are made once and kept, also
 * while a table grows from nothing to millions between two analyses, so nothing may be left to its statistics:
 * joins are spelt as loops (`lateral … offset 0`), and a column by which an index should not be chosen is
 * written `+ 0`.
 */
export const lookups = `
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set enable_bitmapscan = off
  set jit = off`

/** Milliseconds by the store's clock: the database's, unless a call brings its own. */
export const clockFunction = `
create or replace function S.now_ms(p_now bigint) returns bigint language sql volatile as $$
  select coalesce(p_now, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;`

/** Whoever waited for a lock has to see what was committed meanwhile. */
export const checkIsolation = `
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = '${refusals['invalid-option']}', message =
      'Carillon needs the isolation level read committed, where each statement sees what was committed before it';
  end if;`

/** The shard's row, locked for its owner, whose fence must be the shard's. */
export const fenceFunction = `
create or replace function S.fenced_shard(
  p_shard integer, p_epoch bigint, p_nonce bigint, p_settled_position bigint, p_settled_revision bigint
) returns S.shard language plpgsql volatile as $$
declare
  s S.shard;
begin
  ${checkIsolation}
  select * into s from S.shard where shard = p_shard for no key update;
  if not found then
    raise exception using errcode = '${refusals['invalid-option']}', message = format('the store has no shard %s', p_shard);
  end if;
  if s.epoch <> p_epoch or s.nonce <> p_nonce then
    raise exception using errcode = '${refusals.fenced}', message = format(
      'shard %s is at epoch %s of %s, the call came with epoch %s',
      p_shard, s.epoch, coalesce(nullif(s.owner, ''), 'nobody'), p_epoch);
  end if;
  if (s.settled_position, s.settled_revision) < (p_settled_position, p_settled_revision) then
    raise exception using errcode = '${refusals.fenced}', message = format(
      'shard %s went back in time: it is settled to %s/%s, its owner was told %s/%s',
      p_shard, s.settled_position, s.settled_revision, p_settled_position, p_settled_revision);
  end if;
  return s;
end $$;`

/** Tags travel as JSON, nothing for none: a list of lists of different lengths is no array in PostgreSQL. */
export const tagsFunction = `
create or replace function S.tags_of(p_json text) returns text[] language sql immutable parallel safe as $$
  select array(select json_array_elements_text(p_json::json))
$$;`

/** The tags of a row, as they travel. Spelt out: a function of its own would cost more than all the rest of it. */
export function jsonOfTags(tags: string): string {
  return `case when ${tags} = '{}' then '' else to_json(${tags})::text end`
}
