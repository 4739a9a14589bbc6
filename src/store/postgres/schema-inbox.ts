import { lookups } from './schema-common.js'

/**
 * Requests appended without a lock on anything but their own ids. They are put first and looked up among the
 * answers afterwards: whoever waited here for an owner that was just answering the same request then sees it.
 * Answers 0 for appended, 1 for answered before, 2 for expired.
 */
const appendFunction = `
create or replace function S.append(
  p_now bigint, r_shard bigint[], r_id text[], r_deadline bigint[], r_operation text[], r_payload bytea[],
  out answers bigint[]
) language plpgsql volatile${lookups} as $$
#variable_conflict use_column
declare
  v_now bigint := S.now_ms(p_now);
  v_put text[];
begin
  with put as (
    insert into S.inbox as i (shard, id, arrival, deadline, operation, payload)
    select r.shard, r.id, nextval('S.arrival'), r.deadline, r.operation, r.payload
    from (
      select * from unnest(r_shard, r_id, r_deadline, r_operation, r_payload)
        with ordinality as r(shard, id, deadline, operation, payload, n) order by n
    ) r
    where r.deadline > v_now
    on conflict (shard, id) do nothing
    returning i.shard || '/' || i.id as name
  ) select array_agg(name) into v_put from put;
  if exists (
    select 1 from unnest(r_shard, r_id) as r(shard, id)
    cross join lateral (select 1 from S.answer a where a.id = r.id and a.shard + 0 = r.shard offset 0) a
  ) then
    delete from S.inbox i where i.ctid = any (array(
      select i.tid from unnest(r_shard, r_id) as r(shard, id)
      cross join lateral (
        select 1 from S.answer a
        where a.id = r.id and a.shard + 0 = r.shard and a.deadline + 0 > v_now offset 0
      ) a
      cross join lateral (
        select i.ctid as tid from S.inbox i where i.id = r.id and i.shard + 0 = r.shard offset 0
      ) i
      where r.shard || '/' || r.id = any (v_put)
    ));
  end if;
  select array_agg(case
      when a.deadline is not null then 1
      when i.id is not null then 0
      else 2
    end::bigint) into answers
  from unnest(r_shard, r_id) with ordinality as r(shard, id, n)
  left join lateral (
    select a.deadline from S.answer a
    where a.id = r.id and a.shard + 0 = r.shard and a.deadline + 0 > v_now offset 0
  ) a on true
  left join lateral (select i.id from S.inbox i where i.id = r.id and i.shard + 0 = r.shard offset 0) i on true;
end $$;`

/** The oldest requests of a shard, for its owner. */
const requestsFunction = `
create or replace function S.requests(
  p_shard integer, p_epoch bigint, p_nonce bigint, p_settled_position bigint, p_settled_revision bigint,
  p_limit bigint,
  out ids text[], out deadlines bigint[], out operations text[], out payloads bytea[]
) language plpgsql volatile${lookups} as $$
#variable_conflict use_column
declare
  s S.shard;
begin
  s := S.fenced_shard(p_shard, p_epoch, p_nonce, p_settled_position, p_settled_revision);
  select array_agg(i.id::text), array_agg(i.deadline), array_agg(i.operation), array_agg(i.payload)
    into ids, deadlines, operations, payloads
  from (select * from S.inbox i where i.shard = p_shard order by i.shard, i.arrival limit p_limit) i;
end $$;`

export const inboxFunctions = appendFunction + requestsFunction
