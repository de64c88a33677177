-- Counts per square of each grid, kept (O2.3): how many records, species and years there are in a square changes seldom and is asked
-- often. A writer adds a row to portal.raster_offen that says where something changed, and waits for nobody; whoever reads counts the
-- squares named there anew (gis.raster_zahl says up to how many records), and takes the others as they were counted last. So what is read
-- is exact, and counting can wait.

-- Squares that two transactions made at once: the first one of them stays.
--   x, y  numbers of squares, pairwise
create or replace function private.delete_doppeltes_feld(gitter text, x integer[], y integer[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  delete from portal.raster_feld k
  using unnest(delete_doppeltes_feld.x, delete_doppeltes_feld.y) f (x, y)
  where k.gitter = delete_doppeltes_feld.gitter and k.x = f.x and k.y = f.y
    and exists (select from portal.raster_feld l where l.gitter = k.gitter and l.x = k.x and l.y = k.y and l.id < k.id);
end
$$;

-- Keeps the counts of squares. What they were already is not written again: behind a transaction that is open for long, whatever was written
-- stays to be looked through.
--   x, y    numbers of the squares that were counted, pairwise
--   zahlen  the counts of those in which there is something
create or replace function private.put_raster_zahl(gitter text, x integer[], y integer[], zahlen portal.raster_zahl[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  delete from portal.raster_zahl k
  using unnest(put_raster_zahl.x, put_raster_zahl.y) f (x, y)
  where k.gitter = put_raster_zahl.gitter and k.x = f.x and k.y = f.y
    and not exists (select from unnest(put_raster_zahl.zahlen) z where z.x = f.x and z.y = f.y);
  insert into portal.raster_zahl as k
  select z.gitter, z.x, z.y, z.meldungen, z.arten, z.verschleiert, z.erstes_jahr, z.letztes_jahr, z.artenmenge, private.to_raster_feature(z)
  from unnest(put_raster_zahl.zahlen) z
  on conflict (gitter, x, y) do update
  set meldungen = excluded.meldungen, arten = excluded.arten, verschleiert = excluded.verschleiert, erstes_jahr = excluded.erstes_jahr,
    letztes_jahr = excluded.letztes_jahr, artenmenge = excluded.artenmenge, feature = excluded.feature
  where k.* is distinct from excluded.*;
  if put_raster_zahl.gitter = '5km' then
    perform private.put_raster_grob(put_raster_zahl.x, put_raster_zahl.y);
  end if;
end
$$;

-- Which of these squares hold nothing any more.
--   eea10, tk  as in portal.sichtbeobachtung_gezeigt
create or replace function private.list_leeres_feld(eea10 integer[], tk integer[])
  returns table (gitter text, x integer, y integer)
  language sql
  stable
as $$
  select 'eea10', u.f / 1000, u.f % 1000
  from unnest(list_leeres_feld.eea10) u (f)
  where u.f is not null and not exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = u.f)
  union all
  select 'mtbq', u.f / 10, u.f % 10
  from unnest(list_leeres_feld.tk) u (f)
  where u.f is not null and not exists (select from portal.sichtbeobachtung_gezeigt g where g.tk = u.f)
  union all
  select 'mtb', u.f / 100, u.f % 100
  from (select distinct t / 10 from unnest(list_leeres_feld.tk) v (t)) u (f)
  where u.f is not null
    and not exists (select from portal.sichtbeobachtung_gezeigt g where g.tk between u.f * 10 + 1 and u.f * 10 + 4)
$$;

-- Squares that were kept for records which are gone, or are shown elsewhere by now: that of a true place would tell where to look for
-- it, whatever the views leave out (O0.4). Only while nobody writes a record: whoever found the square there has not made it again.
--   eea10, tk  as in portal.sichtbeobachtung_gezeigt
-- errors  55P03 while records are written
create or replace function private.delete_leeres_feld(eea10 integer[], tk integer[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  perform private.require_catalogue_pause();
  delete from portal.raster_feld k
  using private.list_leeres_feld(delete_leeres_feld.eea10, delete_leeres_feld.tk) l
  where k.gitter = l.gitter and k.x = l.x and k.y = l.y;
  -- A quadrant that is there is taken as a sign of its sheet.
  delete from portal.raster_feld k
  using private.list_leeres_feld(null, delete_leeres_feld.tk) l
  where l.gitter = 'mtb' and k.gitter = 'mtbq' and k.x = l.x * 100 + l.y;
end
$$;

-- Counts squares that changed, and keeps the counts. One session at a time; another one finds nothing to do. The same as the branches of
-- gis.raster_zahl, but for squares that are chosen first: that view counts all that are named.
--   row_limit  places of changes at most, with what else was named in the same cells
-- returns      how many squares were counted; 0 for nothing to do, while another session counts, or while records are written and all that
--              was named is to be deleted
create or replace function api.set_raster_zahl(row_limit integer)
  returns integer
  language plpgsql
  volatile
as $$
declare
  v_offen bigint[];
  v_x integer[];
  v_y integer[];
  v_eea10 integer[];
  v_tk integer[];
  -- of these, places in squares that are empty
  v_leer bigint[];
  v_zero bit varying;
  v_count integer := 0;
  v_is_old boolean;
begin
  -- The widest squares: of a database from before there were any.
  v_is_old := exists (select from portal.raster_grob k where k.stufe = 9 and k.meldungen is null);
  if not v_is_old and not exists (select from portal.raster_offen) then
    return 0;
  end if;
  begin
    perform private.require_raster_lock();
  exception
    when lock_not_available then return 0;
  end;
  if v_is_old then
    perform private.complete_raster_zahl();
    return 1;
  end if;
  -- What is named later than here stays named. What is counted below is at least as new as what is named here.
  v_offen := array(
    select o.id
    from portal.raster_offen o
    -- The oldest first, and whatever else was named in the same cells: an import names a cell again and again.
    join (
      select distinct d.cell_x, d.cell_y
      from (select f.cell_x, f.cell_y from portal.raster_offen f order by f.id limit set_raster_zahl.row_limit) d
    ) z using (cell_x, cell_y));
  v_zero := (select repeat('0', (max(p.platz) / 256 + 1) * 256)::bit varying from portal.art_platz p);
  select array_agg(f.x), array_agg(f.y), v_count + count(*)::integer into v_x, v_y, v_count
  from (select distinct o.cell_x, o.cell_y from unnest(v_offen) u (id) join portal.raster_offen o on o.id = u.id) f (x, y)
  where f.x is not null;
  perform private.put_raster_zahl('5km', v_x, v_y, array(
    select row('5km', f.x, f.y, count(*), count(distinct g.art), count(*) filter (where g.unschaerfe_m > 0),
      extract(year from min(g.datum)), extract(year from max(g.datum)), bit_or(set_bit(v_zero, p.platz, 1)), null)::portal.raster_zahl
    from unnest(v_x, v_y) f (x, y)
    join portal.sichtbeobachtung_gezeigt g on g.cell_x = f.x and g.cell_y = f.y
    left join portal.art_platz p on p.art = g.art
    group by f.x, f.y));
  select array_agg(f.x), array_agg(f.y), v_count + count(*)::integer into v_x, v_y, v_count
  from (select distinct o.eea10 / 1000, o.eea10 % 1000 from unnest(v_offen) u (id) join portal.raster_offen o on o.id = u.id) f (x, y)
  where f.x is not null;
  perform private.delete_doppeltes_feld('eea10', v_x, v_y);
  perform private.put_raster_zahl('eea10', v_x, v_y, array(
    select row('eea10', f.x, f.y, count(*), count(distinct g.art), count(*) filter (where g.unschaerfe_m > 0),
      extract(year from min(g.datum)), extract(year from max(g.datum)), null, null)::portal.raster_zahl
    from unnest(v_x, v_y) f (x, y)
    join portal.sichtbeobachtung_gezeigt g on g.eea10 = f.x * 1000 + f.y
    group by f.x, f.y));
  select array_agg(f.x), array_agg(f.y), v_count + count(*)::integer into v_x, v_y, v_count
  from (select distinct o.tk / 1000, o.tk / 10 % 100 from unnest(v_offen) u (id) join portal.raster_offen o on o.id = u.id) f (x, y)
  where f.x is not null;
  perform private.delete_doppeltes_feld('mtb', v_x, v_y);
  perform private.put_raster_zahl('mtb', v_x, v_y, array(
    select row('mtb', f.x, f.y, count(*), count(distinct g.art), count(*) filter (where g.unschaerfe_m > 0),
      extract(year from min(g.datum)), extract(year from max(g.datum)), null, null)::portal.raster_zahl
    from unnest(v_x, v_y) f (x, y)
    join portal.sichtbeobachtung_gezeigt g on g.tk between (f.x * 100 + f.y) * 10 + 1 and (f.x * 100 + f.y) * 10 + 4
    group by f.x, f.y));
  select array_agg(f.x), array_agg(f.y), v_count + count(*)::integer into v_x, v_y, v_count
  from (select distinct o.tk / 10, o.tk % 10 from unnest(v_offen) u (id) join portal.raster_offen o on o.id = u.id) f (x, y)
  where f.x is not null;
  perform private.delete_doppeltes_feld('mtbq', v_x, v_y);
  perform private.put_raster_zahl('mtbq', v_x, v_y, array(
    select row('mtbq', f.x, f.y, count(*), count(distinct g.art), count(*) filter (where g.unschaerfe_m > 0),
      extract(year from min(g.datum)), extract(year from max(g.datum)), null, null)::portal.raster_zahl
    from unnest(v_x, v_y) f (x, y)
    join portal.sichtbeobachtung_gezeigt g on g.tk = f.x * 10 + f.y
    group by f.x, f.y));
  -- Before the lock, which writers wait for.
  with done as (
    delete from portal.raster_offen o using unnest(v_offen) u (id) where o.id = u.id returning o.cell_x, o.cell_y, o.eea10, o.tk
  )
  select array_agg(d.cell_x), array_agg(d.cell_y), array_agg(d.eea10), array_agg(d.tk) into v_x, v_y, v_eea10, v_tk
  from (select distinct o.* from done o) d;
  v_leer := array(
    select u.n
    from unnest(v_eea10, v_tk) with ordinality u (eea10, tk, n)
    where u.eea10 is not null and not exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = u.eea10)
      or u.tk is not null and not exists (select from portal.sichtbeobachtung_gezeigt g where g.tk = u.tk));
  if cardinality(v_leer) > 0 then
    begin
      perform private.delete_leeres_feld(
        array(select v_eea10[l] from unnest(v_leer) l), array(select v_tk[l] from unnest(v_leer) l));
    exception
      -- Named until it is done; alone they are no reason to go on.
      when lock_not_available then
        insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
        select v_x[l], v_y[l], v_eea10[l], v_tk[l] from unnest(v_leer) l;
        v_count := case when cardinality(v_leer) < cardinality(v_eea10) then v_count else 0 end;
    end;
  end if;
  return v_count;
end
$$;
comment on function api.set_raster_zahl(integer) is 'Counts the squares of the grids in which something changed, and keeps the counts';

-- Whether a database from before still has records without their squares.
create or replace function api.is_raster_vollstaendig()
  returns boolean
  language sql
  stable
as $$
  select coalesce((select i.has_raster_lage from portal.installation i), true)
$$;
comment on function api.is_raster_vollstaendig() is 'Whether the squares of all records are known, also of those from before there were counts';

-- Finds the squares of records that were there before they were kept. Records that another transaction has in hand are left out.
--   after_id, row_limit  the part of the records to look at
-- returns                the last id looked at, null at the end
create or replace function api.set_raster_lage(after_id bigint, row_limit integer)
  returns bigint
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_last bigint;
  v_eea10 integer[];
  v_tk integer[];
begin
  select max(p.id) into v_last
  from (
    select g.id from portal.sichtbeobachtung_gezeigt g where g.id > set_raster_lage.after_id order by g.id limit set_raster_lage.row_limit
  ) p;
  if v_last is null then
    return null;
  end if;
  -- Squares that are there stay meanwhile.
  perform private.require_catalogue_lock(exclusive => false);
  with part as (
    select g.id
    from portal.sichtbeobachtung_gezeigt g
    where g.id > set_raster_lage.after_id and g.id <= v_last and g.eea10 is null
    order by g.id
    for no key update skip locked
  ),
  written as (
    update portal.sichtbeobachtung_gezeigt g
    set eea10 = private.to_eea10(g.place), tk = private.to_tk(g.place)
    from part p
    where g.id = p.id
    returning g.eea10, g.tk
  )
  select array_agg(w.eea10), array_agg(w.tk) into v_eea10, v_tk from (select distinct w.eea10, w.tk from written w) w;
  perform private.set_raster_feld(v_eea10, v_tk);
  return v_last;
end
$$;
comment on function api.set_raster_lage(bigint, integer) is 'Finds the squares of records that were there before they were kept';

-- Has everything counted that is there, once the squares of all records are known.
-- returns  false while some are not
create or replace function api.set_raster_vollstaendig()
  returns boolean
  language plpgsql
  volatile
as $$
begin
  if exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 is null) then
    return false;
  end if;
  insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
  -- Neighbours together: they share squares of the other grids.
  select distinct g.cell_x, g.cell_y, g.eea10, g.tk from portal.sichtbeobachtung_gezeigt g order by g.cell_x, g.cell_y;
  update portal.installation i set has_raster_lage = true;
  return true;
end
$$;
comment on function api.set_raster_vollstaendig() is 'Has all squares counted, once they are known of all records';
