-- What is made of the kept counts (gis/raster_zahl.sql) when they are kept: features for /ogc, larger squares for tiles.

-- A square with its counts as /ogc shows it in degrees, which is what most ask for. Whoever changes it there
-- empties it in a migration, and portal.raster_grob, which has both written anew.
create or replace function private.to_raster_feature(zahl portal.raster_zahl)
  returns text
  language sql
  stable
as $$
  select ausgabe.to_raster_feature_of(
    zahl.gitter, zahl.x, zahl.y, zahl.meldungen, zahl.arten, zahl.erstes_jahr, zahl.letztes_jahr, zahl.verschleiert)
$$;

-- Keeps the counts of squares for tiles, after those of the 5 km grid: level by level, each put together of the four squares below.
--   x, y  numbers of the cells that were counted, pairwise
create or replace function private.put_raster_grob(x integer[], y integer[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_x integer[] := put_raster_grob.x;
  v_y integer[] := put_raster_grob.y;
  -- There may be more species than when some were counted.
  v_length constant integer := (select (max(p.platz) / 256 + 1) * 256 from portal.art_platz p);
  v_half integer;
begin
  for v_stufe in 0 .. 9 loop
    v_half := least(v_stufe, 1);
    with feld as (select f.x, f.y from unnest(v_x, v_y) f (x, y)),
    teil as (
      select z.x, z.y, z.meldungen, z.verschleiert, z.artenmenge from portal.raster_zahl z where v_stufe < 2 and z.gitter = '5km'
      union all
      select k.x, k.y, k.meldungen, k.verschleiert, k.artenmenge from portal.raster_grob k where v_stufe > 1 and k.stufe = v_stufe - 1
    ),
    zahl as (
      select f.x, f.y, sum(t.meldungen) as meldungen, sum(t.verschleiert) as verschleiert,
        pg_catalog.bit_or(pg_catalog.bit(t.artenmenge, v_length, true)) as artenmenge
      from feld f
      join (values (0, 0), (0, 1), (1, 0), (1, 1)) n (x, y) on n.x <= v_half and n.y <= v_half
      join teil t on t.x = (f.x << v_half) + n.x and t.y = (f.y << v_half) + n.y
      group by f.x, f.y
    ),
    gone as (
      delete from portal.raster_grob k
      using feld f
      where k.stufe = v_stufe and k.x = f.x and k.y = f.y and (f.x, f.y) not in (select z.x, z.y from zahl z)
    )
    insert into portal.raster_grob as k (stufe, x, y, meldungen, arten, verschleiert, artenmenge, cell)
    select v_stufe, z.x, z.y, z.meldungen, pg_catalog.bit_count(z.artenmenge), z.verschleiert,
      case when v_stufe > 0 then z.artenmenge end, ausgabe.to_map_square(v_stufe, z.x, z.y)
    from zahl z
    on conflict (stufe, x, y) do update
    set meldungen = excluded.meldungen, arten = excluded.arten, verschleiert = excluded.verschleiert, artenmenge = excluded.artenmenge,
      cell = excluded.cell
    where k.* is distinct from excluded.*;
    select array_agg(f.x), array_agg(f.y) into v_x, v_y from (select distinct u.x >> 1, u.y >> 1 from unnest(v_x, v_y) u (x, y)) f (x, y);
  end loop;
end
$$;

-- Writes down what was kept before these columns and this table were there.
create or replace function private.complete_raster_zahl()
  returns void
  language plpgsql
  volatile
as $$
begin
  update portal.raster_zahl k set feature = private.to_raster_feature(k) where k.feature is null;
  perform private.put_raster_grob(array_agg(k.x), array_agg(k.y)) from portal.raster_zahl k where k.gitter = '5km';
  -- Of squares that are empty by now.
  delete from portal.raster_grob k where k.meldungen is null;
end
$$;

-- Gives species the bits by which larger squares are counted.
create or replace function private.set_art_platz()
  returns void
  language plpgsql
  volatile
as $$
begin
  perform private.require_platz_lock();
  insert into portal.art_platz (art, platz)
  select a.id, coalesce((select max(p.platz) + 1 from portal.art_platz p), 0) + row_number() over (order by a.id) - 1
  from portal.art a
  where not exists (select from portal.art_platz p where p.art = a.id);
end
$$;

create or replace function private.art_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if exists (select from new_row) then
    perform private.set_art_platz();
  end if;
  return null;
end
$$;
