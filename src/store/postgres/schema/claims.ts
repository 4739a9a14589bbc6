import { indexLookupSettings } from './common.js'
import { aggregatedRows, rowColumns } from './owner.js'
import { historyParameters } from './write.js'

const rowOuts = rowColumns.map(([name, type]) => `out ${name} ${type}`).join(', ')
const rowNames = rowColumns.map(([name]) => name).join(', ')

/**
 * Claims due rows that nobody holds, the earliest first. Skips rows that another call is just claiming. A row whose
 * claim ran out counts one more attempt and gets a new revision.
 */
const claimFunction = `
create or replace function S.claim_due(
  p_now bigint, p_owner text, p_limit bigint, p_lease_ms bigint, k_namespace text[], k_kind text[],
  out nonces bigint[], out lost_owners text[], ${rowOuts}
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  v_now bigint := S.now_ms(p_now);
begin
  with due as materialized (
    select t.ctid as tid, t.lease_owner as lost_owner from S.timer t
    where t.position <= v_now and (t.lease_until is null or t.lease_until <= v_now)
      and (k_kind is null or exists (
        select 1 from unnest(k_namespace, k_kind) as k(namespace, kind)
        where k.namespace = t.namespace and k.kind = t.kind
      ))
    order by t.position, t.revision limit p_limit
    for no key update skip locked
  ), leased as (
    update S.timer t set
      attempt = case when t.lease_until is null then t.attempt else t.attempt + 1 end,
      revision = case when t.lease_until is null then t.revision else nextval('S.revision') end,
      lease_owner = p_owner, lease_nonce = nextval('S.lease'), lease_until = v_now + p_lease_ms
    from due where t.ctid = due.tid
    returning t.*, due.lost_owner
  )
  select array_agg(t.lease_nonce), array_agg(t.lost_owner), ${aggregatedRows}
    into nonces, lost_owners, ${rowNames}
  from (select * from leased order by position, revision) t;
end $$;`

const tokenParameters =
  'r_shard bigint[], r_namespace text[], r_kind text[], r_key text[], r_identity bigint[], r_revision bigint[], r_nonce bigint[]'

const lockRows = `
  perform 1 from (
      select * from unnest(r_shard, r_namespace, r_kind, r_key) as r(shard, namespace, kind, key) order by 1, 4, 3, 2
    ) r cross join lateral (
      select 1 from S.timer t
      where t.key = r.key and t.kind = r.kind and t.namespace = r.namespace and t.shard + 0 = r.shard
      for no key update offset 0
    ) t;`

const heldRow = `
      cross join lateral (
        select t.ctid as tid, t.identity, t.revision, t.lease_nonce, t.lease_until from S.timer t
        where t.key = r.key and t.kind = r.kind and t.namespace = r.namespace and t.shard + 0 = r.shard offset 0
      ) t
      where t.identity = r.identity and t.revision = r.revision and t.lease_nonce = r.nonce and t.lease_until > v_now`

const extendFunction = `
create or replace function S.extend(p_now bigint, p_lease_ms bigint, ${tokenParameters}, out held bigint[])
language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  v_now bigint := S.now_ms(p_now);
begin
  ${lockRows}
  with held as materialized (
      select r.n, t.tid from unnest(r_shard, r_namespace, r_kind, r_key, r_identity, r_revision, r_nonce)
        with ordinality as r(shard, namespace, kind, key, identity, revision, nonce, n)
      ${heldRow}
  ), extended as (
    update S.timer t set lease_until = v_now + p_lease_ms from held h where t.ctid = h.tid
  ) select array_agg(n) into held from held;
end $$;`

/**
 * Settles claimed rows. Outcomes by number: 0 done, 1 released, 2 follow-up, 3 dead. A dead row with a due time goes on
 * with its next occurrence. A history entry that belongs to a settlement is stored only if the claim still held.
 */
const settleFunction = `
create or replace function S.settle_claimed(
  p_now bigint, ${tokenParameters}, r_outcome bigint[], r_due_at bigint[], r_attempt bigint[], r_occurrence bigint[],
  r_details text[], r_died_at bigint[], r_reason text[], ${historyParameters}, h_settlement bigint[], out held bigint[]
) language plpgsql volatile${indexLookupSettings} as $$
#variable_conflict use_column
declare
  v_now bigint := S.now_ms(p_now);
  v_settled bigint;
  v_dead bigint;
  v_number bigint;
  v_held bigint[];
begin
  ${lockRows}
  with held as materialized (
      select r.*, t.tid from unnest(r_shard, r_namespace, r_kind, r_key, r_identity, r_revision, r_nonce,
          r_outcome, r_due_at, r_attempt, r_occurrence, r_details, r_died_at, r_reason)
        with ordinality as r(shard, namespace, kind, key, identity, revision, nonce,
          outcome, due_at, attempt, occurrence, details, died_at, reason, n)
      ${heldRow}
  ), letters as (
    insert into S.dead_letter (shard, died_at, reason, position, revision, identity, created_at, due_at, attempt,
      occurrence, namespace, kind, key, tags, details, payload)
    select h.shard, h.died_at, h.reason, t.position, t.revision, t.identity, t.created_at, t.due_at, t.attempt,
      t.occurrence, t.namespace, t.kind, t.key, t.tags, t.details, t.payload
    from held h cross join lateral (select * from S.timer t where t.ctid = h.tid offset 0) t
    where h.outcome = 3 order by h.n
  ), gone as (
    delete from S.timer t using held h
    where (h.outcome = 0 or (h.outcome = 3 and h.due_at is null)) and t.ctid = h.tid
  ), released as (
    update S.timer t set lease_owner = null, lease_nonce = null, lease_until = null
    from held h where h.outcome = 1 and t.ctid = h.tid
  ), followed as (
    update S.timer t set position = h.due_at, revision = nextval('S.revision'), due_at = h.due_at,
      attempt = h.attempt, occurrence = h.occurrence, details = coalesce(h.details, t.details),
      lease_owner = null, lease_nonce = null, lease_until = null
    from held h where (h.outcome = 2 or (h.outcome = 3 and h.due_at is not null)) and t.ctid = h.tid
  )
  select array_agg(n), count(*) filter (where outcome = 0), count(*) filter (where outcome = 3 and due_at is null)
    into held, v_settled, v_dead from held;
  if cardinality(h_at) > 0 then
    v_held := array_fill(0::bigint, array[cardinality(r_outcome)]);
    foreach v_number in array coalesce(held, '{}') loop
      v_held[v_number] := 1;
    end loop;
    insert into S.history (namespace, kind, key, identity, at, event, details)
    select h.namespace, h.kind, h.key, h.identity, h.at, h.event, h.details
    from unnest(h_namespace, h_kind, h_key, h_identity, h_at, h_event, h_details, h_settlement)
      with ordinality as h(namespace, kind, key, identity, at, event, details, settlement, n)
    where h.settlement is null or v_held[h.settlement] = 1 order by h.n;
  end if;
  update S.counter set settled = settled + v_settled, dead = dead + v_dead
  where slot = pg_backend_pid() & 31 and (v_settled > 0 or v_dead > 0);
end $$;`

export const claimFunctions = claimFunction + extendFunction + settleFunction
