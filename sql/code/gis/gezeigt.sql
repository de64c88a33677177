-- What analysts read: one row per public released record, as everyone may see it whatever tenant is addressed (D4), and
-- beside it what only those may read who see true places.
--
-- Tables of their own instead of views on portal.sichtbeobachtung: a plain view hands hidden rows and columns to any cheap
-- function in a where-clause, and a security_barrier view can't use the spatial index (a 10 km box at 10 million
-- sightings: 410 ms instead of 1.1).

-- The rows that analysts are shown for records; none for a record that is private or not released.
--   id        records
-- returns     masked: any tenant protects the record; place is then the centre of its cell, point the true one, EPSG:25832; eea10, tk: the
--             squares of other grids that place lies in
create or replace function private.list_gezeigt_raster(id bigint[])
  returns table (
    id bigint, guid uuid, art integer, anzahl integer, datum date, stadium_id integer, aktivitaet_id integer, bemerkung text,
    masked boolean, cell_x integer, cell_y integer, point public.geometry, place public.geometry, eea10 integer, tk integer)
  language sql
  stable
as $$
  select k.*, private.to_eea10(k.place), private.to_tk(k.place)
  from (
    select s.id, s.guid, s.art, s.anzahl, s.datum, s.stadium_id, s.aktivitaet_id, s.bemerkung, m.masked, s.cell_x, s.cell_y,
      s.point, case when m.masked then s.raster_point else s.point end as place
    -- Joined with the ids, because `= any` compares each row with all of them once its plan is kept.
    from unnest(list_gezeigt_raster.id) u (id)
    join portal.sichtbeobachtung s on s.id = u.id
    -- No tenant is addressed here, so it may be any of them: what one tenant protects is protected. Nobody is exempt.
    cross join lateral (
      select private.is_masked(s.schutz, sensibel_here => true, nutzer_id => s.nutzer_id, reader => null, exempt => false) as masked
    ) m
    -- `case`, so that no partial index fits: the planner took one of the GiST indexes for the cheapest way to find an id, and
    -- re-masking 52 000 records took minutes.
    where case when s.bereich = 'oeffentlich' then s.status = 'freigegeben' else false end
  ) k
$$;

-- Brings what analysts read in line with records. A row is written only when something in it changes: not when a protected
-- record moves within its cell, so that not even the order on disk depends on the true place.
--   id  records, also deleted ones
create or replace function private.set_gezeigt(id bigint[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_eea10 integer[];
  v_tk integer[];
  -- cells in which something was shown that is not shown so any more
  v_cell_x integer[];
  v_cell_y integer[];
begin
  if pg_catalog.cardinality(set_gezeigt.id) = 0 then
    return;
  end if;
  -- To begin the statement below costs more than all that it does for one record.
  if pg_catalog.cardinality(set_gezeigt.id) = 1 then
    perform private.set_gezeigt_of_id(set_gezeigt.id[1]);
    return;
  end if;
  with shown as materialized (
    select k.* from private.list_gezeigt_raster(set_gezeigt.id) k
  ),
  -- As it was: this statement doesn't see what it writes.
  shown_before as materialized (
    select g.id, g.cell_x, g.cell_y, g.eea10, g.tk
    from pg_catalog.unnest(set_gezeigt.id) u (id)
    join portal.sichtbeobachtung_gezeigt g on g.id = u.id
  ),
  hidden as (
    delete from portal.sichtbeobachtung_gezeigt g
    using (select pg_catalog.unnest(set_gezeigt.id) except select k.id from shown k) u (id)
    where g.id = u.id
    returning g.id
  ),
  opened as (
    delete from portal.sichtbeobachtung_exakt e
    using (select pg_catalog.unnest(set_gezeigt.id) except select k.id from shown k where k.masked) u (id)
    where e.id = u.id
  ),
  masked as (
    insert into portal.sichtbeobachtung_exakt as e (id, bemerkung, place)
    select k.id, k.bemerkung, k.point
    from shown k
    where k.masked
    order by k.id
    on conflict (id) do update
      set bemerkung = excluded.bemerkung, place = excluded.place
      where e.bemerkung is distinct from excluded.bemerkung or not public.st_orderingequals(e.place, excluded.place)
  ),
  written as (
    insert into portal.sichtbeobachtung_gezeigt as g
      (id, guid, art, anzahl, datum, stadium_id, aktivitaet_id, bemerkung, unschaerfe_m, cell_x, cell_y, place, eea10, tk)
    select k.id, k.guid, k.art, k.anzahl, k.datum, k.stadium_id, k.aktivitaet_id, case when not k.masked then k.bemerkung end,
      private.to_unschaerfe(k.masked), k.cell_x, k.cell_y, k.place, k.eea10, k.tk
    from shown k
    -- Neighbours together: five of the indexes are by place, and an import spent a fifth of its time in finding pages of them again.
    -- It is the shown place, so that the order on disk tells no more than the rows.
    order by k.cell_x, k.cell_y, k.id
    on conflict (id) do update
      set art = excluded.art, anzahl = excluded.anzahl, datum = excluded.datum, stadium_id = excluded.stadium_id,
        aktivitaet_id = excluded.aktivitaet_id, bemerkung = excluded.bemerkung, unschaerfe_m = excluded.unschaerfe_m,
        cell_x = excluded.cell_x, cell_y = excluded.cell_y, place = excluded.place, eea10 = excluded.eea10, tk = excluded.tk,
        geaendert = (pg_catalog.now() at time zone 'Europe/Berlin')::date
      where (g.art, g.anzahl, g.datum, g.stadium_id, g.aktivitaet_id, g.bemerkung, g.unschaerfe_m)
          is distinct from
          (excluded.art, excluded.anzahl, excluded.datum, excluded.stadium_id, excluded.aktivitaet_id, excluded.bemerkung, excluded.unschaerfe_m)
        or not public.st_orderingequals(g.place, excluded.place)
    returning g.id, g.cell_x, g.cell_y, g.eea10, g.tk
  ),
  changed as materialized (
    select b.cell_x, b.cell_y, b.eea10, b.tk from shown_before b join (select w.id from written w union all select h.id from hidden h) c using (id)
  ),
  counted_anew as (
    insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
    select w.cell_x, w.cell_y, w.eea10, w.tk from written w
    union
    select c.cell_x, c.cell_y, c.eea10, c.tk from changed c
  )
  select
    (select pg_catalog.array_agg(w.eea10) from (select distinct w.eea10, w.tk from written w) w),
    (select pg_catalog.array_agg(w.tk) from (select distinct w.eea10, w.tk from written w) w),
    (select pg_catalog.array_agg(c.cell_x) from (select distinct c.cell_x, c.cell_y from changed c) c),
    (select pg_catalog.array_agg(c.cell_y) from (select distinct c.cell_x, c.cell_y from changed c) c)
  into v_eea10, v_tk, v_cell_x, v_cell_y;
  if v_cell_x is not null then
    perform private.set_export_ungueltig_of_zelle(v_cell_x, v_cell_y);
  end if;
  if v_eea10 is not null then
    perform private.set_raster_feld(v_eea10, v_tk);
  end if;
end
$$;

-- The same for one record, in a few statements.
--   id  a record, also a deleted one
create or replace function private.set_gezeigt_of_id(id bigint)
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_before portal.sichtbeobachtung_gezeigt;
  v_shown record;
begin
  select k.*, private.to_unschaerfe(k.masked) as unschaerfe_m, g as before,
    -- The first question of set_raster_feld, asked here too.
    exists (select from portal.raster_feld f where f.gitter = 'eea10' and f.x = k.eea10 / 1000 and f.y = k.eea10 % 1000)
      and (k.tk is null or exists (select from portal.raster_feld f where f.gitter = 'mtbq' and f.x = k.tk / 10 and f.y = k.tk % 10))
      as has_feld
  into v_shown
  from (select * from private.list_gezeigt_raster(array[set_gezeigt_of_id.id]) offset 0) k
  left join portal.sichtbeobachtung_gezeigt g on g.id = k.id;
  if not found then
    delete from portal.sichtbeobachtung_exakt e where e.id = set_gezeigt_of_id.id;
    delete from portal.sichtbeobachtung_gezeigt g where g.id = set_gezeigt_of_id.id returning g.* into v_before;
    if found then
      insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
      values (v_before.cell_x, v_before.cell_y, v_before.eea10, v_before.tk);
      perform private.set_export_ungueltig_of_zelle(array[v_before.cell_x], array[v_before.cell_y]);
    end if;
    return;
  end if;

  v_before := v_shown.before;
  if v_shown.masked then
    insert into portal.sichtbeobachtung_exakt as e (id, bemerkung, place)
    values (v_shown.id, v_shown.bemerkung, v_shown.point)
    on conflict (id) do update
      set bemerkung = excluded.bemerkung, place = excluded.place
      where e.bemerkung is distinct from excluded.bemerkung or not public.st_orderingequals(e.place, excluded.place);
    v_shown.bemerkung := null;
  elsif v_before.id is not null then
    delete from portal.sichtbeobachtung_exakt e where e.id = v_shown.id;
  end if;

  if v_before.id is null then
    insert into portal.sichtbeobachtung_gezeigt
      (id, guid, art, anzahl, datum, stadium_id, aktivitaet_id, bemerkung, unschaerfe_m, cell_x, cell_y, place, eea10, tk)
    values (
      v_shown.id, v_shown.guid, v_shown.art, v_shown.anzahl, v_shown.datum, v_shown.stadium_id, v_shown.aktivitaet_id, v_shown.bemerkung,
      v_shown.unschaerfe_m, v_shown.cell_x, v_shown.cell_y, v_shown.place, v_shown.eea10, v_shown.tk);
    insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
    values (v_shown.cell_x, v_shown.cell_y, v_shown.eea10, v_shown.tk);
  elsif (v_before.art, v_before.anzahl, v_before.datum, v_before.stadium_id, v_before.aktivitaet_id, v_before.bemerkung,
      v_before.unschaerfe_m)
      is distinct from
      (v_shown.art, v_shown.anzahl, v_shown.datum, v_shown.stadium_id, v_shown.aktivitaet_id, v_shown.bemerkung, v_shown.unschaerfe_m)
    or not public.st_orderingequals(v_before.place, v_shown.place) then
    update portal.sichtbeobachtung_gezeigt g
    set art = v_shown.art, anzahl = v_shown.anzahl, datum = v_shown.datum, stadium_id = v_shown.stadium_id,
      aktivitaet_id = v_shown.aktivitaet_id, bemerkung = v_shown.bemerkung, unschaerfe_m = v_shown.unschaerfe_m,
      cell_x = v_shown.cell_x, cell_y = v_shown.cell_y, place = v_shown.place, eea10 = v_shown.eea10, tk = v_shown.tk,
      geaendert = (pg_catalog.now() at time zone 'Europe/Berlin')::date
    where g.id = v_shown.id;
    perform private.set_export_ungueltig_of_zelle(array[v_before.cell_x], array[v_before.cell_y]);
    insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
    values (v_shown.cell_x, v_shown.cell_y, v_shown.eea10, v_shown.tk);
    if (v_before.cell_x, v_before.cell_y, v_before.eea10, v_before.tk)
      is distinct from (v_shown.cell_x, v_shown.cell_y, v_shown.eea10, v_shown.tk) then
      insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
      values (v_before.cell_x, v_before.cell_y, v_before.eea10, v_before.tk);
    end if;
  end if;
  if not v_shown.has_feld then
    perform private.set_raster_feld(array[v_shown.eea10], array[v_shown.tk]);
  end if;
end
$$;

-- The same for all records, for a database that had sightings before it had these tables.
create or replace function private.set_gezeigt_all()
  returns void
  language plpgsql
  volatile
as $$
begin
  -- Else a record that is masked meanwhile would be written as it was read before.
  perform private.require_catalogue_lock(exclusive => true);
  perform private.set_gezeigt(array(
    select s.id from portal.sichtbeobachtung s where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
    union
    select g.id from portal.sichtbeobachtung_gezeigt g
    union
    select e.id from portal.sichtbeobachtung_exakt e));
end
$$;

create or replace function private.gezeigt_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  -- Most new records are not released: then this look is all that it costs.
  if tg_op = 'INSERT' then
    perform private.set_gezeigt(array(select n.id from new_row n where private.is_shown_to_all(n.bereich, n.status)));
    perform private.set_medium_gezeigt(array(
      select n.id
      from new_row n
      where coalesce(n.foto, n.foto_2, n.foto_3, n.biotopfoto, n.audio) is not null and private.is_shown_to_all(n.bereich, n.status)));
  elsif tg_op = 'DELETE' then
    perform private.set_gezeigt(array(select o.id from old_row o where private.is_shown_to_all(o.bereich, o.status)));
    -- As in private.set_medium_gezeigt, which does not find the accounts of what is gone.
    perform
    from portal.nutzer u
    where u.id in (
      select o.nutzer_id
      from old_row o
      where coalesce(o.foto, o.foto_2, o.foto_3, o.biotopfoto, o.audio) is not null and private.is_shown_to_all(o.bereich, o.status))
    for share;
    perform private.set_medium_gezeigt(array(
      select o.id
      from old_row o
      where coalesce(o.foto, o.foto_2, o.foto_3, o.biotopfoto, o.audio) is not null and private.is_shown_to_all(o.bereich, o.status)));
  else
    perform private.set_gezeigt(array(
      select n.id
      from new_row n
      join old_row o using (id)
      where private.is_shown_to_all(n.bereich, n.status) or private.is_shown_to_all(o.bereich, o.status)));
    perform private.set_medium_gezeigt(array(
      select n.id
      from new_row n
      join old_row o using (id)
      where (private.is_shown_to_all(n.bereich, n.status) or private.is_shown_to_all(o.bereich, o.status))
        and coalesce(
          n.foto, n.foto_2, n.foto_3, n.biotopfoto, n.audio, o.foto, o.foto_2, o.foto_3, o.biotopfoto, o.audio) is not null));
  end if;
  return null;
end
$$;
