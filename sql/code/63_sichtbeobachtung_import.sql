-- Importing sightings in bulk (D5): COPY fills a staging table, everything is checked at once, then it is stored through the
-- same triggers as every other write. All of it in one transaction.

-- Makes the staging table that COPY fills, one row per record of the file. Temporary: exact places reach neither the
-- write-ahead log nor anybody else, and nothing of it is left behind.
--   zeile     line of the file
--   lat, lon  northing and easting in the unit of srid; srid 25832, 4326 or 3857
-- returns     today in Europe/Berlin: what an empty datum stands for
create or replace function api.create_sichtbeobachtung_import()
  returns date
  language plpgsql
  volatile
as $$
begin
  create temporary table sichtbeobachtung_import (
    zeile integer not null, art integer, lat float8, lon float8, srid integer, anzahl integer, sensibel boolean, datum date,
    bereich portal.bereich, bemerkung text, stadium_id integer, aktivitaet_id integer, status portal.status)
  on commit drop;
  return (now() at time zone 'Europe/Berlin')::date;
end
$$;
comment on function api.create_sichtbeobachtung_import() is
  'Makes the temporary table sichtbeobachtung_import that COPY fills; returns today in Europe/Berlin';

-- Why private.to_point refuses a position; null when it doesn't.
--   lat, lon, srid  as in private.to_point
-- returns           code: WERTB, GBTAU or GBIET; spalte: the field that is to blame
create or replace function private.get_ort_fehler(lat float8, lon float8, srid integer)
  returns table (code text, spalte text)
  language plpgsql
  stable
  rows 1
as $$
begin
  perform private.to_point(lat, lon, srid);
  return query select null::text, null::text;
exception when sqlstate 'WERTB' or sqlstate 'GBTAU' or sqlstate 'GBIET' then
  code := sqlstate;
  get stacked diagnostics spalte = column_name;
  return next;
end
$$;

-- Projects what was staged, and checks it by the rules of api.create_sichtbeobachtung, all rows at once. Fields that are null
-- because the file had nothing readable there are not checked. There is no addressed tenant: a species is known when any
-- tenant defines it.
--   nutzer_id  the recorder
--   row_limit  errors to return at most, the first ones by line
--   skip_duplicates  leave out what is DOPPL instead of returning it
-- returns      zeile: line; code: ARTUN, STDUN, AKTUN, DATUM, WERTB, GBTAU, GBIET, DOPPL; spalte: the field that is to blame,
--              none for DOPPL; werte: the fields' values, for DOPPL the line (zeile) or the stored record (id) that is the
--              same report; gesamt: how many errors there are
create or replace function api.list_sichtbeobachtung_import_fehler(nutzer_id bigint, row_limit integer, skip_duplicates boolean)
  returns table (zeile integer, code text, spalte text, werte json, gesamt bigint)
  language plpgsql
  volatile
  set jit = off
  set work_mem = '64MB'
as $$
#variable_conflict use_column
declare
  v_installation portal.installation;
  v_today date := (now() at time zone 'Europe/Berlin')::date;
begin
  -- From here on, so that what is checked is what is stored.
  perform private.require_catalogue_lock(exclusive => false);
  select i.* into strict v_installation from portal.installation i;

  -- Once, because projecting is the dear part. `offset 0`: not for every use of the point anew.
  create temporary table sichtbeobachtung_import_ort on commit drop as
  select s.*, p.point
  from pg_temp.sichtbeobachtung_import s,
    lateral (select private.project(s.lat, s.lon, s.srid) as point offset 0) p;
  drop table pg_temp.sichtbeobachtung_import;

  if list_sichtbeobachtung_import_fehler.skip_duplicates then
    delete from pg_temp.sichtbeobachtung_import_ort s
    using (
      select o.ctid as stelle, row_number() over (
        partition by o.art, o.datum, round(public.st_x(o.point) * 1000), round(public.st_y(o.point) * 1000) order by o.zeile) as nummer
      from pg_temp.sichtbeobachtung_import_ort o
      where o.art is not null and o.datum is not null and o.point is not null
    ) d
    where s.ctid = d.stelle and d.nummer > 1;
    delete from pg_temp.sichtbeobachtung_import_ort s
    using portal.sichtbeobachtung b
    where b.nutzer_id = list_sichtbeobachtung_import_fehler.nutzer_id and b.art = s.art and b.datum = s.datum
      and round(public.st_x(b.point) * 1000) = round(public.st_x(s.point) * 1000)
      and round(public.st_y(b.point) * 1000) = round(public.st_y(s.point) * 1000);
  end if;

  return query
  with doppelt as (
    select s.art, s.datum, round(public.st_x(s.point) * 1000) as x_mm, round(public.st_y(s.point) * 1000) as y_mm,
      min(s.zeile) as erste
    from pg_temp.sichtbeobachtung_import_ort s
    group by s.art, s.datum, x_mm, y_mm
    having count(*) > 1
  ),
  fehler as (
    select s.zeile, 'ARTUN' as code, 'art' as spalte, null::bigint as bezug
    from pg_temp.sichtbeobachtung_import_ort s
    where s.art is not null and not exists (select from portal.art_mandant am where am.art = s.art)
    union all
    select s.zeile, 'STDUN', 'stadium_id', null
    from pg_temp.sichtbeobachtung_import_ort s
    where s.stadium_id is not null and not exists (select from portal.stadium t where t.id = s.stadium_id)
    union all
    select s.zeile, 'AKTUN', 'aktivitaet_id', null
    from pg_temp.sichtbeobachtung_import_ort s
    where s.aktivitaet_id is not null and not exists (select from portal.aktivitaet t where t.id = s.aktivitaet_id)
    union all
    select s.zeile, 'DATUM', 'datum', null
    from pg_temp.sichtbeobachtung_import_ort s
    where s.datum not between date '1800-01-01' and v_today
    union all
    select s.zeile, null, null, null
    from pg_temp.sichtbeobachtung_import_ort s
    where s.lat is not null and s.lon is not null and s.srid is not null and not coalesce(
      public.st_x(s.point) between v_installation.x_min and v_installation.x_max
      and public.st_y(s.point) between v_installation.y_min and v_installation.y_max, false)
    union all
    select s.zeile, 'DOPPL', 'zeile', d.erste
    from pg_temp.sichtbeobachtung_import_ort s
    join doppelt d on d.art = s.art and d.datum = s.datum
      and d.x_mm = round(public.st_x(s.point) * 1000) and d.y_mm = round(public.st_y(s.point) * 1000)
    where s.zeile <> d.erste
    union all
    select s.zeile, 'DOPPL', 'id', b.id
    from pg_temp.sichtbeobachtung_import_ort s
    join portal.sichtbeobachtung b
      on b.nutzer_id = list_sichtbeobachtung_import_fehler.nutzer_id and b.art = s.art and b.datum = s.datum
        and round(public.st_x(b.point) * 1000) = round(public.st_x(s.point) * 1000)
        and round(public.st_y(b.point) * 1000) = round(public.st_y(s.point) * 1000)
  ),
  page as (
    select f.*, count(*) over () as gesamt
    from fehler f
    order by f.zeile, f.spalte
    limit row_limit
  )
  select p.zeile, coalesce(p.code, o.code), case when p.code = 'DOPPL' then null else coalesce(p.spalte, o.spalte) end,
    case coalesce(p.spalte, 'lat')
      when 'art' then json_build_object('art', s.art)
      when 'stadium_id' then json_build_object('stadium_id', s.stadium_id)
      when 'aktivitaet_id' then json_build_object('aktivitaet_id', s.aktivitaet_id)
      when 'datum' then json_build_object('datum', to_char(s.datum, 'DD.MM.YYYY'))
      when 'lat' then json_build_object('lat', s.lat::text, 'lon', s.lon::text)
      else json_build_object(p.spalte, p.bezug)
    end,
    p.gesamt
  from page p
  join pg_temp.sichtbeobachtung_import_ort s using (zeile)
  left join lateral (select e.* from private.get_ort_fehler(s.lat, s.lon, s.srid) e where p.code is null) o on true
  order by p.zeile, p.spalte;
end
$$;
comment on function api.list_sichtbeobachtung_import_fehler(bigint, integer, boolean) is
  'Projects and checks what was staged for an import; returns what is wrong by line, the first row_limit errors and their number';

-- Stores a part of what was checked. In parts, because what waits for the end of a statement (its rows for the triggers,
-- every check of a reference) is kept until then: 0.4 kB a row.
--   nutzer_id    the recorder
--   first_block  8 kB block of the staging table with which the part begins; 0 for the first
--   blocks       length of the part
-- returns        how many were stored
-- errors         23505 one of them was stored by somebody else meanwhile
create or replace function api.create_sichtbeobachtung_of_import(nutzer_id bigint, first_block integer, blocks integer)
  returns bigint
  language plpgsql
  volatile
  set jit = off
  set work_mem = '64MB'
as $$
declare
  v_count bigint;
begin
  insert into portal.sichtbeobachtung (
    nutzer_id, art, point, anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id, status)
  select create_sichtbeobachtung_of_import.nutzer_id, s.art, s.point, s.anzahl, s.sensibel, s.datum, s.bereich, s.bemerkung,
    s.stadium_id, s.aktivitaet_id, s.status
  from pg_temp.sichtbeobachtung_import_ort s
  -- Blocks instead of lines: no index to build, and parts of the same size however long the remarks are.
  where s.ctid >= format('(%s,0)', first_block)::tid and s.ctid < format('(%s,0)', first_block + blocks)::tid;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
comment on function api.create_sichtbeobachtung_of_import(bigint, integer, integer) is
  'Stores a part of the checked import, in the order of the file; returns how many sightings were stored';
