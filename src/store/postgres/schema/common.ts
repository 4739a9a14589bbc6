import { type OperationAnswer } from '../../store.js'

/** The outcomes of operations. The functions in the database use their indexes. */
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

/** The number of an outcome in SQL. */
export function outcomeNumber(outcome: OperationAnswer['outcome']): number {
  return outcomes.indexOf(outcome)
}

/** The numbers of the operation types in SQL. */
export const operationNumbers = Object.freeze({ set: 0, move: 1, cancel: 2, answer: 3 })

/** The SQLSTATEs with which the functions refuse a call. */
export const refusalStates = Object.freeze({
  fenced: 'CA001',
  'invalid-level': 'CA002',
  'invalid-option': 'CA003',
  'inbox-first': 'CA004',
  'two-phase-commit': 'CA005',
})

/**
 * Settings of a function whose statements look up single rows by an index. Their plans are made once and kept, even
 * while a table grows from nothing to millions of rows between two analyses. So no plan may depend on statistics. Joins
 * are written as loops (`lateral … offset 0`), and `+ 0` keeps a column from being used to choose an index.
 */
export const indexLookupSettings = `
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set enable_bitmapscan = off
  set jit = off`

/** The store's clock in milliseconds: the database's, unless the call gives a time. */
export const clockFunction = `
create or replace function S.now_ms(p_now bigint) returns bigint language sql volatile as $$
  select coalesce(p_now, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;`

/** A statement that waited for a lock must see the rows that were committed meanwhile. */
export const checkIsolation = `
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = '${refusalStates['invalid-option']}', message =
      'Carillon needs the isolation level read committed, because a statement must see what was committed before it';
  end if;`

/** Locks and returns the shard row. Refuses the call if its fence does not hold (rule 1). */
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
    raise exception using errcode = '${refusalStates['invalid-option']}', message = format('no shard %s in this store', p_shard);
  end if;
  if s.epoch <> p_epoch or s.nonce <> p_nonce then
    raise exception using errcode = '${refusalStates.fenced}', message = format(
      'shard %s is at epoch %s, owned by %s, but the call has epoch %s',
      p_shard, s.epoch, coalesce(nullif(s.owner, ''), 'nobody'), p_epoch);
  end if;
  if (s.settled_position, s.settled_revision) < (p_settled_position, p_settled_revision) then
    raise exception using errcode = '${refusalStates.fenced}', message = format(
      'shard %s went back in time: its settled level is %s/%s, but it confirmed %s/%s to its owner',
      p_shard, s.settled_position, s.settled_revision, p_settled_position, p_settled_revision);
  end if;
  return s;
end $$;`

/** Parses tags. They are sent as JSON: arrays of different lengths cannot be elements of one PostgreSQL array. */
export const tagsFunction = `
create or replace function S.tags_of(p_json text) returns text[] language sql immutable parallel safe as $$
  select array(select json_array_elements_text(p_json::json))
$$;`

/** SQL that makes JSON of tags, or the empty string of none. Inline, because a function call would cost far more. */
export function jsonOfTags(tags: string): string {
  return `case when ${tags} = '{}' then '' else to_json(${tags})::text end`
}
