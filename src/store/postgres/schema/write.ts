import { NO_DEADLINE } from '../../contract/inbox.js'
import {
  checkIsolation,
  jsonOfTags,
  indexLookupSettings,
  operationNumbers,
  outcomeNumber,
  refusalStates,
} from './common.js'

const { set, move, cancel, answer } = operationNumbers
const stored = outcomeNumber('set')
const moved = outcomeNumber('moved')
const cancelled = outcomeNumber('cancelled')
const below = outcomeNumber('below-level')
const answeredBefore = outcomeNumber('answered-before')

/** Arrays with one element for each operation. A missing array or element is null. */
const operationColumns = [
  ['o_wave', 'bigint'],
  ['o_shard', 'bigint'],
  ['o_type', 'bigint'],
  ['o_namespace', 'text'],
  ['o_kind', 'text'],
  ['o_key', 'text'],
  ['o_identity', 'bigint'],
  ['o_position', 'bigint'],
  ['o_due_at', 'bigint'],
  ['o_attempt', 'bigint'],
  ['o_occurrence', 'bigint'],
  ['o_created_at', 'bigint'],
  ['o_payload', 'bytea'],
  ['o_tags', 'text'],
  ['o_details', 'text'],
  ['o_if_absent', 'bigint'],
  ['o_if_revision', 'bigint'],
  ['o_from_dead', 'bigint'],
  ['o_request', 'text'],
  ['o_outcome', 'bigint'],
  ['o_note_at', 'bigint'],
  ['o_note_event', 'text'],
  ['o_note_details', 'text'],
] as const

/** The columns of a plain set. */
const plainColumns = operationColumns.filter(([name]) =>
  [
    'o_namespace',
    'o_kind',
    'o_key',
    'o_identity',
    'o_position',
    'o_due_at',
    'o_attempt',
    'o_occurrence',
    'o_created_at',
    'o_payload',
    'o_tags',
    'o_details',
  ].includes(name),
)

const historyColumns = [
  ['h_namespace', 'text'],
  ['h_kind', 'text'],
  ['h_key', 'text'],
  ['h_identity', 'bigint'],
  ['h_at', 'bigint'],
  ['h_event', 'text'],
  ['h_details', 'text'],
] as const

const parameters = (columns: readonly (readonly [string, string])[]): string =>
  columns.map(([name, type]) => `${name} ${type}[]`).join(', ')

const names = (columns: readonly (readonly [string, string])[]): string =>
  columns.map(([name]) => name).join(', ')

/** The parameters of a function that writes history. */
export const historyParameters = parameters(historyColumns)

export const writeHistory = `
  if cardinality(h_at) > 0 then
    insert into S.history (namespace, kind, key, identity, at, event, details)
    select * from unnest(${names(historyColumns)});
  end if;`

/** The shards of a call, each with the fence of its owner and whether the inbox must be empty. */
const groupColumns = [
  'g_shard',
  'g_epoch',
  'g_nonce',
  'g_settled_position',
  'g_settled_revision',
  'g_if_inbox_empty',
] as const
const groupParameters = groupColumns.map((name) => `${name} bigint[]`).join(', ')
const groupOuts =
  'out bases bigint[], out read_positions bigint[], out read_revisions bigint[], out settled_positions bigint[], out settled_revisions bigint[]'

/**
 * Locks the shards of a call in the order of their numbers, and checks them. `bases` gets the last revision of each
 * shard, or -1 if its fence, its inbox or `moreConditions` does not match. Also reads the levels.
 */
const lockShards = (moreConditions = '', moreColumns: readonly string[] = []): string => `
  ${checkIsolation}
  perform 1 from S.shard s where s.shard = any (g_shard::integer[]) order by s.shard for no key update;
  select array_agg(case when s.epoch = g.g_epoch and s.nonce = g.g_nonce
        and (s.settled_position, s.settled_revision) >= (g.g_settled_position, g.g_settled_revision)
        and not (g.g_if_inbox_empty = 1 and exists (select 1 from S.inbox i where i.shard = g.g_shard))${moreConditions}
      then s.last_revision else -1 end order by g.n),
      array_agg(s.read_position order by g.n), array_agg(s.read_revision order by g.n),
      array_agg(s.settled_position order by g.n), array_agg(s.settled_revision order by g.n)
    into bases, read_positions, read_revisions, settled_positions, settled_revisions
  from unnest(${[...groupColumns, ...moreColumns].join(', ')}) with ordinality as g(${[...groupColumns, ...moreColumns].join(', ')}, n)
    left join lateral (select * from S.shard s where s.shard = g.g_shard offset 0) s on true;`

/** Raises an error if the call has one shard and it did not match. */
const refuseSingle = `
  if p_is_alone = 1 and bases[1] < 0 then
    perform S.fenced_shard(g_shard[1]::integer, g_epoch[1], g_nonce[1], g_settled_position[1], g_settled_revision[1]);
    raise exception using errcode = '${refusalStates['inbox-first']}', message = format(
      'requests wait in the inbox of shard %s', g_shard[1]);
  end if;`

/** The columns of plain sets that are the same for all sets of most calls. */
const commonColumns = plainColumns.filter(([name]) =>
  ['o_namespace', 'o_kind', 'o_attempt', 'o_occurrence', 'o_created_at', 'o_details'].includes(name),
)

/**
 * Inserts plain sets with free names, for many shards at once.
 *
 * - The rows of a shard are adjacent, in the order of the shards.
 * - An array of one element stands for a column with the same value everywhere. No due times: they are the positions.
 * - A shard is skipped if its fence, inbox or level does not match. All are skipped if any name is taken. `bases` is -1
 *   for those.
 * - `unnest` in the select list streams. In the from clause, PostgreSQL would store the arrays as a table first.
 * - A common value is a variable. Reading it from an array for each column of each row took a tenth of the time.
 */
const insertFunction = `
create or replace function S.insert_plain(
  ${groupParameters}, g_count bigint[], g_begin bigint[], g_least bigint[],
  o_group bigint[], ${parameters(plainColumns)}, ${groupOuts}
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  ${commonColumns.map(([name, type]) => `v_${name} ${type} := ${name}[1];`).join('\n  ')}
  -- The revision of a row is its number in the call plus this.
  v_offsets bigint[];
  v_all_match boolean;
begin
  ${lockShards('\n        and g.g_least >= s.settled_position', ['g_least'])}
  select array_agg(g.base - g.begin order by g.n), bool_and(g.base >= 0) into v_offsets, v_all_match
    from unnest(bases, g_begin) with ordinality as g(base, begin, n);
  begin
    insert into S.timer (shard, position, revision, identity, created_at, due_at, attempt, occurrence,
      namespace, kind, key, tags, details, payload)
    select (insert_plain.g_shard)[o.o_group], o.o_position, v_offsets[o.o_group] + o.n, o.o_identity,
      ${commonOf('o_created_at')}, coalesce(o.o_due_at, o.o_position),
      ${commonOf('o_attempt')}, ${commonOf('o_occurrence')},
      ${commonOf('o_namespace')}, ${commonOf('o_kind')}, o.o_key,
      case when o.o_tags is null then '{}' else S.tags_of(o.o_tags) end,
      ${commonOf('o_details')}, o.o_payload
    from (
      select generate_subscripts(o_group, 1) as n, unnest(o_group) as o_group,
        ${plainColumns.map(([name]) => `unnest(${name}) as ${name}`).join(', ')}
    ) o where v_all_match or bases[o.o_group] >= 0;
    update S.shard s set last_revision = s.last_revision + g.count, created = s.created + g.count
    from unnest(g_shard, g_count, bases) as g(shard, count, base)
    where s.shard = g.shard and g.base >= 0;
  exception when unique_violation then
    bases := array_fill(-1::bigint, array[cardinality(g_shard)]);
  end;
end $$;`

function commonOf(column: string): string {
  return `coalesce(o.${column}, v_${column})`
}

/** Whether an operation moves a row and keeps its row claim. For a move, the flag `o_if_absent` says that. */
function isKept(operation: string): string {
  return `${operation}.o_type = ${move} and coalesce(${operation}.o_if_absent, 0) = 1`
}

const judgeClaimed = `
          when ${isKept('o')} then case
            when t.lease_until > v_now then ${moved} else ${outcomeNumber('conflict')}
          end
          when t.lease_until > v_now then ${outcomeNumber('firing')}`

/** Updates the counters and the last revision of the shards of a call. */
const countShards = (revision: string): string => `, counted as (
      update S.shard s set created = s.created + c.created, replaced = s.replaced + c.replaced,
        cancelled = s.cancelled + c.cancelled, last_revision = greatest(s.last_revision, c.last)
      from (
        select j.shard, count(*) filter (where outcome = ${stored}) as created,
          count(*) filter (where outcome = ${stored} and old_identity is not null) as replaced,
          count(*) filter (where outcome = ${cancelled}) as cancelled,
          max(${revision}) filter (where outcome in (${stored}, ${moved})) as last
        from judged j group by j.shard
      ) c where s.shard = c.shard and (c.last is not null or c.cancelled > 0)
    )`

/**
 * Carries out a batch of operations in one statement. Operations on the same name, request or dead letter depend on
 * each other and come in different waves. Those of one wave are judged and carried out together. A set of a free name
 * has no answer row: its place is its position, and the base of its shard plus its number in the shard.
 *
 * `write_owned` takes the operations of many shards, those of each shard together. It locks the shard rows, then reads
 * everything else. A shard that does not match is skipped, or refused if it is the only one.
 *
 * `write_claimed` has no owners. It first takes an advisory lock for each name, then locks the rows, then reads
 * everything else. So two writers of one name come one after the other.
 */
function writeFunction(isOwned: boolean): string {
  const shard = isOwned ? 'g_shard[o.o_group]::integer' : 'o.o_shard::integer'
  const settledPosition = isOwned ? 'settled_positions[o.o_group]' : '0'
  const settledRevision = isOwned ? 'settled_revisions[o.o_group]' : '0'
  const revision = isOwned ? 'bases[j.o_group] + j.n - g_begin[j.o_group]' : 'j.new_revision'
  // The target of an operation: the number of its shard in the call, or its shard.
  const columns = operationColumns.map(([name, type]): [string, string] =>
    isOwned && name === 'o_shard' ? ['o_group', type] : [name, type],
  )
  const lockNames = `
  perform pg_advisory_xact_lock(hashtext('S.timer'), bucket)
    from (select distinct hashtext(k) & 255 as bucket from unnest(o_key) k order by 1) buckets;
  perform 1 from (
      select * from unnest(o_shard, o_namespace, o_kind, o_key)
        as u(o_shard, o_namespace, o_kind, o_key) order by 1, 4, 3, 2
    ) o cross join lateral (
      select 1 from S.timer t
      where t.key = o.o_key and t.kind = o.o_kind and t.namespace = o.o_namespace and t.shard + 0 = o.o_shard
      for no key update offset 0
    ) t;`
  return `
create or replace function S.${isOwned ? 'write_owned' : 'write_claimed'}(
  p_now bigint, ${isOwned ? `p_is_alone bigint, ${groupParameters}, g_begin bigint[], ` : ''}
  p_waves bigint, ${parameters(columns)}, ${historyParameters},
  ${isOwned ? groupOuts : 'out new_revisions bigint[]'},
  out answered bigint[], out outcomes bigint[],
  out old_identities bigint[], out old_positions bigint[], out old_revisions bigint[],
  out moved_numbers bigint[], out moved_revisions bigint[], out moved_created_ats bigint[],
  out moved_attempts bigint[], out moved_occurrences bigint[], out moved_tags text[], out moved_details text[],
  out moved_payloads bytea[]
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  v_now bigint;
  c record;
  v_created bigint := 0;
  v_replaced bigint := 0;
  v_cancelled bigint := 0;
begin
  ${isOwned ? lockShards() + refuseSingle : lockNames}
  v_now := S.now_ms(p_now);
  if cardinality(o_from_dead) > 0 then
    perform 1 from (select distinct id from unnest(o_from_dead) id where id is not null order by 1) o
      cross join lateral (select 1 from S.dead_letter d where d.id = o.id for update offset 0) d;
  end if;
  for wave in 0 .. p_waves - 1 loop
    with o as (
      select * from unnest(${names(columns)}) with ordinality as u(${names(columns)}, n)
      where (o_wave = wave or (o_wave is null and wave = 0))${isOwned ? ' and bases[o_group] >= 0' : ''}
    ), judged as materialized (
      select o.*, ${shard} as shard, t.tid, t.identity as old_identity, t.position as old_position,
        t.revision as old_revision, t.created_at as old_created_at, t.attempt as old_attempt,
        t.occurrence as old_occurrence, t.tags as old_tags, t.details as old_details, t.payload as old_payload,
        r.tid as request_tid, r.deadline, d.tid as dead_tid,
        ${isOwned ? '' : `nextval('S.revision') as new_revision,`}
        case
          when o.o_request is not null and r.deadline is null then ${answeredBefore}
          when o.o_request is not null and o.o_type <> ${set} and r.deadline <= v_now then ${outcomeNumber('expired')}
          when o.o_type = ${answer} then ${isOwned ? 'o.o_outcome' : answeredBefore}
          when o.o_type = ${set} then case
            when t.identity = o.o_identity then ${outcomeNumber('same')}
            when (o.o_if_absent = 1 and t.tid is not null)
              or (o.o_if_revision is not null and t.revision is distinct from o.o_if_revision)
              then ${outcomeNumber('conflict')}
            when o.o_position < ${settledPosition} then ${below}
            when o.o_from_dead is not null and d.tid is null then ${outcomeNumber('unknown')}
            else ${stored}
          end
          when t.tid is null or o.o_identity <> t.identity then ${outcomeNumber('unknown')}
          when o.o_if_revision <> t.revision then ${outcomeNumber('conflict')}
          ${isOwned ? '' : judgeClaimed}
          when o.o_type = ${cancel} then ${cancelled}
          when o.o_position < ${settledPosition} then ${below}
          else ${moved}
        end as outcome
      from o
      left join lateral (
        select t.ctid as tid, t.* from S.timer t
        where t.key = o.o_key and t.kind = o.o_kind and t.namespace = o.o_namespace and t.shard + 0 = ${shard}
          and (t.position + 0, t.revision) >= (${settledPosition}, ${settledRevision})
        offset 0
      ) t on true
      left join lateral (
        select i.ctid as tid, i.deadline from S.inbox i
        where i.id = o.o_request and i.shard + 0 = ${shard} offset 0
      ) r on true
      left join lateral (
        select d.ctid as tid from S.dead_letter d where d.id = o.o_from_dead and d.shard = ${shard} offset 0
      ) d on true
    ), put as (
      insert into S.timer as t (shard, position, revision, identity, created_at, due_at, attempt, occurrence,
        namespace, kind, key, tags, details, payload)
      select j.shard, j.o_position, ${revision}, j.o_identity, j.o_created_at, j.o_due_at, j.o_attempt,
        j.o_occurrence, j.o_namespace, j.o_kind, j.o_key, case when j.o_tags is null then '{}' else S.tags_of(j.o_tags) end, j.o_details, j.o_payload
      from judged j where j.outcome = ${stored}
      on conflict (shard, key, kind, namespace) do update set
        position = excluded.position, revision = excluded.revision, identity = excluded.identity,
        created_at = excluded.created_at, due_at = excluded.due_at, attempt = excluded.attempt,
        occurrence = excluded.occurrence, tags = excluded.tags, details = excluded.details,
        payload = excluded.payload, lease_nonce = null, lease_until = null, lease_owner = null
    ), moves as (
      update S.timer t set position = j.o_position, revision = ${revision}, due_at = j.o_due_at,
        attempt = coalesce(j.o_attempt, t.attempt), details = coalesce(j.o_details, t.details),
        lease_nonce = case when ${isKept('j')} then t.lease_nonce end,
        lease_until = case when ${isKept('j')} then t.lease_until end,
        lease_owner = case when ${isKept('j')} then t.lease_owner end
      from judged j where j.outcome = ${moved} and t.ctid = j.tid
    ), cancels as (
      delete from S.timer t using judged j where j.outcome = ${cancelled} and t.ctid = j.tid
    ), revived as (
      delete from S.dead_letter d using judged j where j.outcome = ${stored} and d.ctid = j.dead_tid
    ), taken as (
      delete from S.inbox i using judged j where j.outcome <> ${below} and i.ctid = j.request_tid
    ), answers as (
      insert into S.answer (shard, id, outcome, deadline)
      select j.shard, j.o_request, j.outcome, j.deadline from judged j
      where j.outcome <> ${below} and j.request_tid is not null and j.deadline < ${NO_DEADLINE}
      on conflict (shard, id) do update set outcome = excluded.outcome, deadline = excluded.deadline
    ), history as (
      insert into S.history (namespace, kind, key, identity, at, event, details)
      select j.o_namespace, j.o_kind, j.o_key,
        case when j.outcome = ${stored} then j.o_identity else j.old_identity end,
        j.o_note_at, j.o_note_event, j.o_note_details
      from judged j
      where j.o_note_at is not null and j.outcome in (${stored}, ${moved}, ${cancelled}) order by j.n
    )${isOwned ? countShards(revision) : ''}
    select
      count(*) filter (where outcome = ${stored}) as created,
      count(*) filter (where outcome = ${stored} and old_identity is not null) as replaced,
      count(*) filter (where outcome = ${cancelled}) as cancelled,
      ${isOwned ? 'null::bigint[]' : 'array_agg(new_revision)'} as new_revisions,
      array_agg(n) filter (where outcome <> ${stored} or old_identity is not null) as answered,
      array_agg(outcome::bigint) filter (where outcome <> ${stored} or old_identity is not null) as outcomes,
      array_agg(old_identity) filter (where outcome <> ${stored} or old_identity is not null) as old_identities,
      array_agg(old_position) filter (where outcome <> ${stored} or old_identity is not null) as old_positions,
      array_agg(old_revision) filter (where outcome <> ${stored} or old_identity is not null) as old_revisions,
      array_agg(n) filter (where outcome = ${moved}) as moved_numbers,
      array_agg(${revision.replaceAll('j.', '')}) filter (where outcome = ${moved}) as moved_revisions,
      array_agg(old_created_at) filter (where outcome = ${moved}) as moved_created_ats,
      array_agg(coalesce(o_attempt, old_attempt)) filter (where outcome = ${moved}) as moved_attempts,
      array_agg(old_occurrence) filter (where outcome = ${moved}) as moved_occurrences,
      array_agg(${jsonOfTags('old_tags')}) filter (where outcome = ${moved}) as moved_tags,
      array_agg(coalesce(o_details, old_details)) filter (where outcome = ${moved}) as moved_details,
      array_agg(old_payload) filter (where outcome = ${moved}) as moved_payloads
    into c from judged;
    ${isOwned ? '' : 'new_revisions := new_revisions || c.new_revisions;'}
    answered := answered || c.answered;
    outcomes := outcomes || c.outcomes;
    old_identities := old_identities || c.old_identities;
    old_positions := old_positions || c.old_positions;
    old_revisions := old_revisions || c.old_revisions;
    moved_numbers := moved_numbers || c.moved_numbers;
    moved_revisions := moved_revisions || c.moved_revisions;
    moved_created_ats := moved_created_ats || c.moved_created_ats;
    moved_attempts := moved_attempts || c.moved_attempts;
    moved_occurrences := moved_occurrences || c.moved_occurrences;
    moved_tags := moved_tags || c.moved_tags;
    moved_details := moved_details || c.moved_details;
    moved_payloads := moved_payloads || c.moved_payloads;
    v_created := v_created + c.created;
    v_replaced := v_replaced + c.replaced;
    v_cancelled := v_cancelled + c.cancelled;
  end loop;
  ${writeHistory}
  ${
    isOwned
      ? ''
      : `
  update S.counter set created = created + v_created, replaced = replaced + v_replaced,
    cancelled = cancelled + v_cancelled
  where slot = pg_backend_pid() & 31 and p_waves > 0;`
  }
end $$;`
}

export const writeFunctions = insertFunction + writeFunction(true) + writeFunction(false)
