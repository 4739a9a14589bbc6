import { checkIsolation, jsonOfTags, indexLookupSettings, refusalStates } from './common.js'
import { historyParameters, writeHistory } from './write.js'

const fence =
  'p_shard integer, p_epoch bigint, p_nonce bigint, p_settled_position bigint, p_settled_revision bigint'
const checkFence = 's := S.fenced_shard(p_shard, p_epoch, p_nonce, p_settled_position, p_settled_revision);'

/** The columns of rows, each as one array, and the SQL that makes an element from a row `t`. */
export const rowColumns = [
  ['positions', 'bigint[]', 't.position'],
  ['revisions', 'bigint[]', 't.revision'],
  ['due_ats', 'bigint[]', 't.due_at'],
  ['identities', 'bigint[]', 't.identity'],
  ['created_ats', 'bigint[]', 't.created_at'],
  ['attempts', 'bigint[]', 't.attempt'],
  ['occurrences', 'bigint[]', 't.occurrence'],
  ['namespaces', 'text[]', 't.namespace::text'],
  ['kinds', 'text[]', 't.kind::text'],
  ['keys', 'text[]', 't.key::text'],
  ['tags', 'text[]', jsonOfTags('t.tags')],
  ['details', 'text[]', 't.details'],
  ['payloads', 'bytea[]', 't.payload'],
] as const

/** Rows `t` as arrays, in their order. */
export const aggregatedRows = rowColumns.map(([name, , made]) => `array_agg(${made}) as ${name}`).join(', ')

/** The same, in binary. */
export const sentRows = rowColumns
  .map(([name, , made]) => `array_send(array_agg(${made})) as ${name}`)
  .join(', ')

const rowOuts = rowColumns.map(([name, type]) => `out ${name} ${type}`).join(', ')
const rowNames = rowColumns.map(([name]) => name).join(', ')

/** Reads a page and raises the read level over it, in one step (rule 2). */
const loadFunction = `
create or replace function S.load(
  ${fence}, p_from_position bigint, p_from_revision bigint, p_until bigint, p_limit bigint, p_limit_bytes bigint,
  out read_position bigint, out read_revision bigint, out next_position bigint, out bytes bigint, ${rowOuts}
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  s S.shard;
begin
  ${checkFence}
  if (s.read_position, s.read_revision) <> (p_from_position, p_from_revision) then
    raise exception using errcode = '${refusalStates.fenced}', message = format(
      'the read level of shard %s is %s/%s, but the call expects %s/%s',
      p_shard, s.read_position, s.read_revision, p_from_position, p_from_revision);
  end if;
  select max(t.total)::bigint, ${aggregatedRows}
    into bytes, ${rowNames}
  from (
    select t.*, sum(160 + octet_length(t.payload) + octet_length(t.key) + octet_length(t.details))
      over (order by t.position, t.revision rows unbounded preceding) as total,
      160 + octet_length(t.payload) + octet_length(t.key) + octet_length(t.details) as own
    from (
      select * from S.timer t
      where t.shard = p_shard and (t.position, t.revision) >= (s.read_position, s.read_revision)
        and t.position < p_until
      order by t.position, t.revision limit p_limit
    ) t
  ) t where t.total - t.own < greatest(p_limit_bytes, 1);
  read_position := coalesce(positions[cardinality(positions)], s.read_position);
  read_revision := coalesce(revisions[cardinality(revisions)] + 1, s.read_revision);
  select t.position into next_position from S.timer t
    where t.shard = p_shard and (t.position, t.revision) >= (read_position, read_revision)
    order by t.position, t.revision limit 1;
  if (next_position is null or next_position >= p_until) and read_position < p_until then
    read_position := p_until;
    read_revision := 0;
  end if;
  if (read_position, read_revision) <> (s.read_position, s.read_revision) then
    update S.shard set read_position = load.read_position, read_revision = load.read_revision where shard = p_shard;
  end if;
end $$;`

const found = (items: string): string => `
      select o.*, t.tid from ${items} cross join lateral (
        select t.ctid as tid, t.namespace, t.kind, t.key from S.timer t
        where t.shard = p_shard and t.position = o.at and t.revision = o.revision
          and (t.position, t.revision) >= (s.settled_position, s.settled_revision)
        offset 0
      ) t where t.key = o.key and t.kind = o.kind and t.namespace = o.namespace`

const rowParameters = (prefix: string): string =>
  `${prefix}_namespace text[], ${prefix}_kind text[], ${prefix}_key text[], ${prefix}_at bigint[], ${prefix}_revision bigint[]`

/**
 * Stores outcomes in one step (rule 7): done rows, dead letters, follow-ups, the level, the counters. Each row is found
 * by its place, and must still have its name there. A level that does not rise may be ahead of the clock: the clock may
 * have been ahead once and set right since.
 */
const settleFunction = `
create or replace function S.settle(
  p_now bigint, ${fence}, p_id bigint, p_position bigint, p_revision bigint, p_count bigint,
  ${rowParameters('d')},
  ${rowParameters('l')}, l_died_at bigint[], l_reason text[],
  l_position bigint[], l_due_at bigint[], l_attempt bigint[], l_occurrence bigint[], l_details text[],
  ${rowParameters('f')}, f_position bigint[], f_due_at bigint[], f_attempt bigint[], f_occurrence bigint[], f_details text[],
  ${historyParameters},
  out base bigint, out read_position bigint, out read_revision bigint, out dead_letters bigint[], out followed bigint[]
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  s S.shard;
  v_now bigint;
  v_done bigint := 0;
  v_dead bigint := 0;
begin
  ${checkFence}
  v_now := S.now_ms(p_now);
  if (p_position, p_revision) < (s.settled_position, s.settled_revision)
    or (s.read_position, s.read_revision) < (p_position, p_revision)
    or (p_position > v_now and (p_position, p_revision) > (s.settled_position, s.settled_revision))
    or p_revision > s.last_revision + 1
    or exists (select 1 from unnest(f_position || l_position) p where p < p_position)
  then
    raise exception using errcode = '${refusalStates['invalid-level']}', message = format(
      'shard %s cannot settle up to %s/%s: its settled level is %s/%s, its read level is %s/%s, and the time is %s', p_shard, p_position, p_revision,
      s.settled_position, s.settled_revision, s.read_position, s.read_revision, v_now);
  end if;
  read_position := s.read_position;
  read_revision := s.read_revision;
  if cardinality(d_at) > 0 then
    with found as materialized (${found('unnest(d_namespace, d_kind, d_key, d_at, d_revision) with ordinality as o(namespace, kind, key, at, revision, n)')}
    ), gone as (
      delete from S.timer t using found f where p_position = 0 and t.ctid = f.tid
    ), kept as (
      update S.timer t set position = p_position - 1, revision = s.last_revision + f.n
      from found f where p_position > 0 and t.ctid = f.tid
    ) select count(*) into v_done from found;
    if p_position > 0 then
      s.last_revision := s.last_revision + cardinality(d_at);
    end if;
  end if;
  base := s.last_revision;
  if cardinality(l_at) > 0 then
    with found as materialized (${found('unnest(l_namespace, l_kind, l_key, l_at, l_revision, l_died_at, l_reason, l_position, l_due_at, l_attempt, l_occurrence, l_details) with ordinality as o(namespace, kind, key, at, revision, died_at, reason, next_position, next_due_at, next_attempt, next_occurrence, next_details, n)')}
    ), letters as (
      insert into S.dead_letter (shard, died_at, reason, position, revision, identity, created_at, due_at, attempt,
        occurrence, namespace, kind, key, tags, details, payload)
      select p_shard, f.died_at, f.reason, t.position, t.revision, t.identity, t.created_at, t.due_at, t.attempt,
        t.occurrence, t.namespace, t.kind, t.key, t.tags, t.details, t.payload
      from found f cross join lateral (select * from S.timer t where t.ctid = f.tid offset 0) t order by f.n
    ), gone as (
      delete from S.timer t using found f where f.next_position is null and t.ctid = f.tid
    ), followed as (
      update S.timer t set position = f.next_position, revision = s.last_revision + f.n, due_at = f.next_due_at,
        attempt = f.next_attempt, occurrence = f.next_occurrence, details = coalesce(f.next_details, t.details)
      from found f where f.next_position is not null and t.ctid = f.tid
    )
    select count(*) filter (where next_position is null), array_agg(n order by n) into v_dead, dead_letters from found;
    s.last_revision := s.last_revision + cardinality(l_at);
  end if;
  if cardinality(f_at) > 0 then
    with found as materialized (${found('unnest(f_namespace, f_kind, f_key, f_at, f_revision, f_position, f_due_at, f_attempt, f_occurrence, f_details) with ordinality as o(namespace, kind, key, at, revision, position, due_at, attempt, occurrence, details, n)')}
    ), written as (
      update S.timer t set position = f.position, revision = s.last_revision + f.n, due_at = f.due_at,
        attempt = f.attempt, occurrence = f.occurrence, details = coalesce(f.details, t.details)
      from found f where t.ctid = f.tid
    )
    select array_agg(n order by n) into followed from found;
    s.last_revision := s.last_revision + cardinality(f_at);
  end if;
  ${writeHistory}
  update S.shard set settled_position = p_position, settled_revision = p_revision, last_settlement = p_id,
    last_revision = s.last_revision, settled = settled + p_count + v_done, dead = dead + v_dead,
    late_before = greatest(late_before, (
      select max(o.position) + 1 from unnest(f_position || l_position, f_due_at || l_due_at) as o(position, due_at)
      where o.position > o.due_at))
  where shard = p_shard;
end $$;`

/**
 * Raises the settled levels of many shards. A shard whose fence or level does not match is skipped. `settled` has the
 * numbers of the others.
 */
const settleLevelsFunction = `
create or replace function S.settle_levels(
  p_now bigint, g_shard bigint[], g_epoch bigint[], g_nonce bigint[], g_settled_position bigint[],
  g_settled_revision bigint[], g_id bigint[], g_position bigint[], g_revision bigint[], g_count bigint[],
  out settled bigint[], out read_positions bigint[], out read_revisions bigint[]
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  v_now bigint;
begin
  ${checkIsolation}
  perform 1 from S.shard s where s.shard = any (g_shard::integer[]) order by s.shard for no key update;
  v_now := S.now_ms(p_now);
  with put as (
    update S.shard s set settled_position = g.position, settled_revision = g.revision, last_settlement = g.id,
      settled = s.settled + g.count
    from unnest(g_shard, g_epoch, g_nonce, g_settled_position, g_settled_revision, g_id, g_position, g_revision, g_count)
      with ordinality
      as g(shard, epoch, nonce, settled_position, settled_revision, id, position, revision, count, n)
    where s.shard = g.shard and s.epoch = g.epoch and s.nonce = g.nonce
      and (s.settled_position, s.settled_revision) >= (g.settled_position, g.settled_revision)
      and (g.position, g.revision) >= (s.settled_position, s.settled_revision)
      and (s.read_position, s.read_revision) >= (g.position, g.revision)
      and (g.position <= v_now or (g.position, g.revision) = (s.settled_position, s.settled_revision))
      and g.revision <= s.last_revision + 1
    returning g.n, s.read_position, s.read_revision
  )
  select array_agg(n), array_agg(read_position), array_agg(read_revision)
    into settled, read_positions, read_revisions from put;
end $$;`

/**
 * Removes up to `p_limit` finished rows before a place. The next call continues where this one ended. Instances of
 * older versions call `sweep`: they forget finished rows at once.
 */
const sweepFunction = `
create or replace function S.sweep_below(${fence}, p_below_position bigint, p_below_revision bigint, p_limit bigint,
  out removed bigint, out more boolean)
language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  s S.shard;
  v_tids tid[];
  v_positions bigint[];
  v_revisions bigint[];
begin
  ${checkFence}
  if (p_below_position, p_below_revision) < (s.settled_position, s.settled_revision) then
    s.settled_position := p_below_position;
    s.settled_revision := p_below_revision;
  end if;
  select array_agg(t.tid), array_agg(t.position), array_agg(t.revision) into v_tids, v_positions, v_revisions
  from (
    select t.ctid as tid, t.position, t.revision from S.timer t
    where t.shard = p_shard and (t.position, t.revision) >= (s.swept_position, s.swept_revision)
      and (t.position, t.revision) < (s.settled_position, s.settled_revision)
    order by t.position, t.revision limit p_limit
  ) t;
  removed := coalesce(cardinality(v_tids), 0);
  more := removed = p_limit;
  if removed > 0 then
    delete from S.timer t where t.ctid = any (v_tids);
  end if;
  if more then
    s.settled_position := v_positions[removed];
    s.settled_revision := v_revisions[removed] + 1;
  end if;
  if (s.swept_position, s.swept_revision) < (s.settled_position, s.settled_revision) then
    update S.shard set swept_position = s.settled_position, swept_revision = s.settled_revision
    where shard = p_shard;
  end if;
end $$;

create or replace function S.sweep(${fence}, p_limit bigint, out removed bigint, out more boolean)
language sql volatile as $$
  select s.removed, s.more from S.sweep_below(p_shard, p_epoch, p_nonce, p_settled_position, p_settled_revision,
    9007199254740991, 0, p_limit) s
$$;`

export const ownerFunctions = loadFunction + settleFunction + settleLevelsFunction + sweepFunction
