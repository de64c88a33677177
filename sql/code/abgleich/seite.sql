-- The feed for mirrors, as it is read (O1). Stable throughout: one snapshot decides what is shown and where reading ends.

-- The entries behind a place, as a mirror of this tenant's host is told them.
--   tenant      the addressed tenant
--   mandant     only records that this filter lists; null = all
--   stelle, id  behind this place
--   grenze      before this one
--   ab          what went before this place is not told, because the mirror never had it
--   row_limit   records
--   scan_limit  entries that are looked at
-- returns       ids, gone, stellen: what the mirror is told, in order; scanned: entries that were looked at; last_stelle, last_id: the
--               place that was come to, null for no entry
create or replace function private.list_abgleich_entry(
  tenant integer, mandant integer, stelle bigint, id bigint, grenze bigint, ab bigint, row_limit integer, scan_limit integer)
  returns table (ids bigint[], gone boolean[], stellen bigint[], scanned integer, last_stelle bigint, last_id bigint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
declare
  v_arts_here integer[];
begin
  if mandant is null then
    select coalesce(array_agg(t.id) filter (where t.shown is not null), '{}'),
      coalesce(array_agg(not t.shown) filter (where t.shown is not null), '{}'),
      coalesce(array_agg(t.stelle) filter (where t.shown is not null), '{}'), count(*), max(t.stelle), (array_agg(t.id))[count(*)]
    into ids, gone, stellen, scanned, last_stelle, last_id
    from (
      select a.stelle, a.sichtbeobachtung_id as id, case when g.frei then true when a.stelle < ab then null else false end as shown
      from portal.abgleich a
      -- What is shown has a row here. Entries lie scattered over all records: to look at each record itself took a third of the page's
      -- time while they were in memory, and most of it while they were not; of this table only its small key is read.
      left join lateral (
        select true as frei
        from portal.sichtbeobachtung_gezeigt g
        where g.id = a.sichtbeobachtung_id
        offset 0
      ) g on true
      where (a.stelle, a.sichtbeobachtung_id) > (list_abgleich_entry.stelle, list_abgleich_entry.id) and a.stelle < grenze
      order by a.stelle, a.sichtbeobachtung_id
      limit scan_limit
    ) t;
  else
    v_arts_here := array(select am.art from portal.art_mandant am where am.mandant_id = tenant and am.sensibel);
    select coalesce(array_agg(t.id) filter (where t.shown is not null), '{}'),
      coalesce(array_agg(not t.shown) filter (where t.shown is not null), '{}'),
      coalesce(array_agg(t.stelle) filter (where t.shown is not null), '{}'), count(*), max(t.stelle), (array_agg(t.id))[count(*)]
    into ids, gone, stellen, scanned, last_stelle, last_id
    from (
      select a.stelle, a.sichtbeobachtung_id as id, k.shown
      from portal.abgleich a
      -- First whether it is this tenant's at all: entries lie scattered over all records, and to look at each of them took two thirds of
      -- the time. By the index of the tenant's released records, which is small; `between`, because with `=` the planner takes the
      -- primary key.
      left join lateral (
        select l.exakt
        from portal.mandant_sichtbeobachtung l
        where l.mandant_id = list_abgleich_entry.mandant and l.frei
          and l.sichtbeobachtung_id between a.sichtbeobachtung_id and a.sichtbeobachtung_id
        offset 0
      ) l on true
      cross join lateral (
        select case
          when l.exakt or (l.exakt is not null and (
            select private.is_masked(s.schutz, s.art = any (v_arts_here), 0, null, false)
            from portal.sichtbeobachtung s
            where s.id = a.sichtbeobachtung_id)) then true
          when a.stelle < ab then null
          when l.exakt is not null or exists (
            select
            from portal.abgleich_ehemals e
            where e.sichtbeobachtung_id = a.sichtbeobachtung_id and e.mandant_id = list_abgleich_entry.mandant) then false
          end as shown
        offset 0
      ) k
      where (a.stelle, a.sichtbeobachtung_id) > (list_abgleich_entry.stelle, list_abgleich_entry.id) and a.stelle < grenze
      order by a.stelle, a.sichtbeobachtung_id
      limit scan_limit
    ) t;
  end if;
  -- Here, not by a window over all of them: of that the usual page would cut away nothing.
  if cardinality(ids) > row_limit then
    ids := ids[:row_limit];
    gone := gone[:row_limit];
    stellen := stellen[:row_limit];
    last_stelle := stellen[row_limit];
    last_id := ids[row_limit];
  end if;
  return next;
end
$$;

-- Below `told` is materialized: PostgreSQL 15 can't plan a condition on a window function for values that it does not know ("WindowFunc
-- not found in subplan target lists").

-- The records of a block that have no place of their own, from an id on.
--   von, bis    ids
--   covered     ids that stand in a later block too: there they are told
--   others      as in private.list_abgleich_entry
-- returns       ids: what the mirror is told, in order; scanned: records that were looked at; last_id: the one that was come to
create or replace function private.list_abgleich_block(
  tenant integer, mandant integer, von bigint, bis bigint, covered int8multirange, row_limit integer, scan_limit integer)
  returns table (ids bigint[], scanned integer, last_id bigint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
declare
  v_arts_here integer[];
begin
  if mandant is null then
    return query
    with seen as materialized (
      select s.id
      from portal.sichtbeobachtung s
      -- Not compared as rows: a scan ends only where the first column of such a bound does, which is all released records later.
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.id between von and bis
      order by s.status, s.id
      limit scan_limit
    ),
    told as materialized (
      select w.id, k.shown, count(*) filter (where k.shown) over (order by w.id rows unbounded preceding) as position
      from seen w
      cross join lateral (
        select not covered @> w.id and not exists (select from portal.abgleich a where a.sichtbeobachtung_id = w.id) as shown
        offset 0
      ) k
    )
    select coalesce(array_agg(t.id order by t.id) filter (where t.shown), '{}'), (select count(*)::integer from seen), max(t.id)
    from told t
    where t.position <= row_limit;
    return;
  end if;
  v_arts_here := array(select am.art from portal.art_mandant am where am.mandant_id = tenant and am.sensibel);
  return query
  with seen as materialized (
    select l.sichtbeobachtung_id as id, l.exakt
    from portal.mandant_sichtbeobachtung l
    where l.mandant_id = list_abgleich_block.mandant and l.frei and l.sichtbeobachtung_id between von and bis
    order by l.mandant_id, l.frei, l.sichtbeobachtung_id
    limit scan_limit
  ),
  told as materialized (
    select w.id, k.shown, count(*) filter (where k.shown) over (order by w.id rows unbounded preceding) as position
    from seen w
    cross join lateral (
      select not covered @> w.id and not exists (select from portal.abgleich a where a.sichtbeobachtung_id = w.id)
        and (w.exakt or (
          select private.is_masked(s.schutz, s.art = any (v_arts_here), 0, null, false)
          from portal.sichtbeobachtung s
          where s.id = w.id)) as shown
      offset 0
    ) k
  )
  select coalesce(array_agg(t.id order by t.id) filter (where t.shown), '{}'), (select count(*)::integer from seen), max(t.id)
  from told t
  where t.position <= row_limit;
end
$$;

-- Whether there has been such a transaction, or is one.
create or replace function private.has_begun(transaction bigint)
  returns boolean
  language plpgsql
  stable
as $$
begin
  perform pg_catalog.pg_xact_status(has_begun.transaction::text::xid8);
  return true;
exception when invalid_parameter_value then
  -- It is in the future.
  return false;
end
$$;

-- One page of the feed (O1): what an anonymous reader at this tenant's host sees, in the order of the last change.
--   tenant        the addressed tenant
--   mandant       abbreviation of a tenant, any case: only records that this filter of lists shows; null = all
--   verlauf, stelle, teil, id, ab  the place behind which the page begins, as the last page returned it; null = the beginning. At each
--                 stelle blocks (teil 0) come before entries (1); what went before ab is not told, because a first copy never had it
--   row_limit     1 to 1000
-- returns         result: JSON array as text, of 2 MiB at most; the place that it ends at; more: there is more already
-- errors          MANUN no such tenant; NEUBE the place is of a time that a restore went back behind; VERLF the database was started or
--                 restored: call api.set_abgleich_verlauf first
create or replace function api.list_abgleich(
  tenant integer, mandant portal.kurztext, verlauf integer, stelle bigint, teil integer, id bigint, ab bigint, row_limit integer)
  returns table (result text, next_verlauf integer, next_stelle bigint, next_teil integer, next_id bigint, next_ab bigint, more boolean)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_variable
declare
  v_verlauf portal.abgleich_verlauf;
  v_mandant integer;
  v_grenze bigint;
  v_stelle bigint := coalesce(list_abgleich.stelle, 0);
  v_teil integer := coalesce(list_abgleich.teil, 0);
  v_id bigint := coalesce(list_abgleich.id, 0);
  -- so many rows are looked at for a page: what is filtered away must not keep it from ending. Scattered ones take 5 µs each.
  v_budget integer := row_limit + 1000;
  -- and so many in one step: the usual page needs no more
  v_scan integer;
  v_block portal.abgleich_block;
  v_until bigint;
  v_step record;
  v_shown integer;
  v_max_bytes constant integer := 2097152;
  -- one more than asked for tells whether there is more
  v_wanted constant integer := row_limit + 1;
  v_ids bigint[] := '{}';
  v_gone boolean[] := '{}';
  v_stellen bigint[] := '{}';
  v_teile integer[] := '{}';
  v_at_end boolean := false;
begin
  select * into v_verlauf from portal.abgleich_verlauf v order by v.nummer desc limit 1;
  if not private.is_current_verlauf(v_verlauf) then
    raise exception 'the database was started or restored' using errcode = 'VERLF';
  end if;
  if list_abgleich.mandant is not null then
    select m.id into v_mandant from portal.mandant m where lower(m.kuerzel) = lower(list_abgleich.mandant);
    if not found then
      raise exception 'no such tenant' using errcode = 'MANUN', column = 'mandant';
    end if;
  end if;
  v_grenze := private.get_abgleich_grenze(v_verlauf);
  if verlauf is null then
    ab := 1 + greatest(
      (select max(a.stelle) from portal.abgleich a where a.stelle < v_grenze),
      (select max(b.stelle) from portal.abgleich_block b where b.stelle < v_grenze));
  elsif verlauf > v_verlauf.nummer or (verlauf = v_verlauf.nummer
      -- A replica may show what the primary has committed but still waits for another replica to have: it is not lost.
      and v_stelle >= v_grenze and not private.has_begun(v_stelle - v_verlauf.versatz))
    or (verlauf < v_verlauf.nummer
      -- A part that is unknown here followed another restore of the same backup.
      and v_stelle > coalesce((select v.komplett from portal.abgleich_verlauf v where v.nummer = list_abgleich.verlauf), -1)) then
    raise exception 'a place that this database has not come to' using errcode = 'NEUBE';
  end if;

  while v_budget > 0 and cardinality(v_ids) < v_wanted loop
    v_scan := least(v_budget, v_wanted - cardinality(v_ids) + 50);
    if v_teil = 0 then
      select b.* into v_block
      from portal.abgleich_block b
      where b.stelle = v_stelle and b.bis > v_id
      order by b.von
      limit 1;
      if v_block.stelle is null then
        v_teil := 1;
        v_id := 0;
        continue;
      end if;
      select * into v_step
      from private.list_abgleich_block(
        tenant, v_mandant, greatest(v_block.von, v_id + 1), v_block.bis, (
          -- Imports at the same time take their ids in turns.
          select coalesce(range_agg(int8range(b.von, b.bis, '[]')), '{}')
          from portal.abgleich_block b
          where b.stelle > v_block.stelle and b.von <= v_block.bis and b.bis >= v_block.von),
        v_wanted - cardinality(v_ids), v_scan) s;
      v_ids := v_ids || v_step.ids;
      v_gone := v_gone || array_fill(false, array[cardinality(v_step.ids)]);
      v_stellen := v_stellen || array_fill(v_stelle, array[cardinality(v_step.ids)]);
      v_teile := v_teile || array_fill(0, array[cardinality(v_step.ids)]);
      v_id := case when v_step.scanned < v_scan and cardinality(v_ids) < v_wanted then v_block.bis else v_step.last_id end;
      -- What a block costs by itself: a small tenant has records in few of many.
      v_budget := v_budget - v_step.scanned - 50;
    else
      v_until := coalesce(
        (select min(b.stelle) from portal.abgleich_block b where b.stelle > v_stelle and b.stelle < v_grenze), v_grenze);
      select * into v_step
      from private.list_abgleich_entry(
        tenant, v_mandant, v_stelle, v_id, v_until, ab, v_wanted - cardinality(v_ids), v_scan) s;
      v_ids := v_ids || v_step.ids;
      v_gone := v_gone || v_step.gone;
      v_stellen := v_stellen || v_step.stellen;
      v_teile := v_teile || array_fill(1, array[cardinality(v_step.ids)]);
      if v_step.last_stelle is not null then
        v_stelle := v_step.last_stelle;
        v_id := v_step.last_id;
      end if;
      exit when cardinality(v_ids) = v_wanted;
      v_budget := v_budget - v_step.scanned - 1;
      continue when v_step.scanned = v_scan;
      v_at_end := v_until = v_grenze;
      exit when v_at_end;
      v_stelle := v_until;
      v_teil := 0;
      v_id := 0;
    end if;
  end loop;

  v_shown := least(cardinality(v_ids), row_limit);
  result := '[' || coalesce(private.render_sichtbeobachtung_of_all(v_ids[:v_shown], v_gone[:v_shown], tenant), '') || ']';
  if octet_length(result) > v_max_bytes then
    select p.result, p.shown into result, v_shown
    from private.render_page(v_ids[:v_shown], v_gone[:v_shown], tenant, null, v_max_bytes) p;
  end if;
  if v_shown < cardinality(v_ids) then
    v_stelle := v_stellen[v_shown];
    v_teil := v_teile[v_shown];
    v_id := v_ids[v_shown];
    v_at_end := false;
  end if;
  next_verlauf := v_verlauf.nummer;
  next_stelle := v_stelle;
  next_teil := v_teil;
  next_id := v_id;
  next_ab := case when v_stelle < ab then ab end;
  more := not v_at_end;
  return next;
end
$$;
comment on function api.list_abgleich(integer, portal.kurztext, integer, bigint, integer, bigint, bigint, integer) is
  'Feed for mirrors: what anonymous readers see, in the order of the last change, one page as JSON text and the place that it ends at';
