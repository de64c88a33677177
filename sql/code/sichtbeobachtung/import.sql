-- Importing sightings in bulk (D5): a staging table is filled, everything is checked at once, then it is stored through the
-- same triggers as every other write, but for the one that derives a row's own columns. All of it in one transaction.

-- Makes the staging table, one row per record of the file. Temporary: true places reach neither the
-- write-ahead log nor anybody else, and nothing of it is left behind.
--   zeile      line of the file
--   lat, lon   northing and easting in the unit of srid; srid 25832, 4326 or 3857
--   loginname  whose record it is, experte who released or rejected it: login names; null for the account of the whole import, nobody
--   quelle_id  what its source calls it; guid the one that it had there, null for one of ours
--   foto … audio  names of stored files, or whatever else says that there is one as long as nothing is stored
-- returns      today in Europe/Berlin: what an empty datum stands for
create or replace function api.create_sichtbeobachtung_import()
  returns date
  language plpgsql
  volatile
as $$
begin
  create temporary table sichtbeobachtung_import (
    zeile integer not null, art integer, lat float8, lon float8, srid integer, anzahl integer, sensibel boolean, datum date,
    bereich portal.bereich, bemerkung text, stadium_id integer, aktivitaet_id integer, status portal.status, loginname text,
    experte text, quelle_id text, guid uuid, foto text, foto_2 text, foto_3 text, biotopfoto text, audio text, medien_lizenz text)
  on commit drop;
  return (now() at time zone 'Europe/Berlin')::date;
end
$$;
comment on function api.create_sichtbeobachtung_import() is
  'Makes the temporary table sichtbeobachtung_import; returns today in Europe/Berlin';

-- Why private.to_point refuses a position; null when it doesn't.
--   lat, lon, srid  as in private.to_point
-- returns           code: WERTB, GBTAU or GBIET; spalte: the field that is to blame
create or replace function private.get_point_fehler(lat float8, lon float8, srid integer)
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

-- Projects what was staged, finds the accounts that it names, and leaves out what is not to be stored.
--   nutzer_id        the recorder of rows that name none; null when all of them do
--   quelle           whose numbers the quelle_id are; null when there are none. What came from there once is left out
--   skip_duplicates  leave out what is the same report as a stored one, or as an earlier line (D2.6)
-- returns            bekannt: how many came from that source already; doppelt: how many duplicates were left out
create or replace function api.prepare_sichtbeobachtung_import(nutzer_id bigint, quelle portal.kurztext, skip_duplicates boolean)
  returns table (bekannt bigint, doppelt bigint)
  language plpgsql
  volatile
  set jit = off
  set work_mem = '64MB'
as $$
#variable_conflict use_column
declare
  v_count bigint;
begin
  bekannt := 0;
  doppelt := 0;
  -- From here on, so that what is checked is what is stored.
  perform private.require_catalogue_lock(exclusive => false);

  -- Names once each: folding one costs as much as storing a record.
  create temporary table sichtbeobachtung_import_konto on commit drop as
  select n.loginname, u.id, exists (select from portal.nutzer_rolle r where r.nutzer_id = u.id) as darf_entscheiden
  from (
    select s.loginname from pg_temp.sichtbeobachtung_import s
    union
    select s.experte from pg_temp.sichtbeobachtung_import s
  ) n
  join portal.nutzer u on u.loginname_key = private.to_account_key(n.loginname) and u.loeschung is null;
  -- Once, because projecting is the dear part. `offset 0`: not for every use of the point anew.
  create temporary table sichtbeobachtung_import_ort on commit drop as
  select s.*, p.point, a.gid, case when s.loginname is null then prepare_sichtbeobachtung_import.nutzer_id else k.id end as nutzer_id,
    e.id as experte_id
  from pg_temp.sichtbeobachtung_import s
  left join pg_temp.sichtbeobachtung_import_konto k on k.loginname = s.loginname
  left join pg_temp.sichtbeobachtung_import_konto e on e.loginname = s.experte and e.darf_entscheiden
  left join portal.art a on a.id = s.art,
    lateral (select private.project(s.lat, s.lon, s.srid) as point offset 0) p
  -- Parts of it are stored in this order.
  order by s.zeile;
  drop table pg_temp.sichtbeobachtung_import;

  if prepare_sichtbeobachtung_import.quelle is not null then
    delete from pg_temp.sichtbeobachtung_import_ort s
    using portal.sichtbeobachtung_herkunft h
    where h.quelle = prepare_sichtbeobachtung_import.quelle and h.quelle_id = s.quelle_id;
    get diagnostics bekannt = row_count;
  end if;

  if prepare_sichtbeobachtung_import.skip_duplicates then
    delete from pg_temp.sichtbeobachtung_import_ort s
    using (
      select o.ctid as stelle, row_number() over (
        partition by o.nutzer_id, o.art, o.datum, round(public.st_x(o.point) * 1000), round(public.st_y(o.point) * 1000)
        order by o.zeile) as nummer
      from pg_temp.sichtbeobachtung_import_ort o
      where o.nutzer_id is not null and o.art is not null and o.datum is not null and o.point is not null
    ) d
    where s.ctid = d.stelle and d.nummer > 1;
    get diagnostics doppelt = row_count;
    -- `limit` as in api.list_sichtbeobachtung_import_fehler.
    delete from pg_temp.sichtbeobachtung_import_ort s
    where (
      select true
      from portal.sichtbeobachtung b
      where private.is_doppelt(b.nutzer_id, b.art, b.datum, b.point, s.nutzer_id, s.art, s.datum, s.point)
      limit 1);
    get diagnostics v_count = row_count;
    doppelt := doppelt + v_count;
  end if;
  return next;
end
$$;
comment on function api.prepare_sichtbeobachtung_import(bigint, portal.kurztext, boolean) is
  'Projects what was staged for an import and leaves out what is stored already; returns how many by their source, how many duplicates';

-- Checks what was prepared, by the rules of api.create_sichtbeobachtung, all rows at once. Fields that are null because the file had
-- nothing readable there are not checked. There is no addressed tenant: a species is known when any tenant defines it.
--   row_limit  errors to return at most, the first ones by line
-- returns      zeile: line; code: ARTUN, STDUN, AKTUN, NTZUN, EXPUN, DATUM, WERTB, GBTAU, GBIET, DOPPL, GUIDD, QUELD; spalte: the
--              field that is to blame, none for DOPPL; werte: the fields' values, for DOPPL, GUIDD and QUELD the line (zeile) or the
--              stored record (id) that has them already; gesamt: how many errors there are
create or replace function api.list_sichtbeobachtung_import_fehler(row_limit integer)
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
  select i.* into strict v_installation from portal.installation i;

  return query
  with doppelt as (
    select s.nutzer_id, s.art, s.datum, round(public.st_x(s.point) * 1000) as x_mm, round(public.st_y(s.point) * 1000) as y_mm,
      min(s.zeile) as erste
    from pg_temp.sichtbeobachtung_import_ort s
    group by s.nutzer_id, s.art, s.datum, x_mm, y_mm
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
    join doppelt d on d.nutzer_id = s.nutzer_id and d.art = s.art and d.datum = s.datum
      and d.x_mm = round(public.st_x(s.point) * 1000) and d.y_mm = round(public.st_y(s.point) * 1000)
    where s.zeile <> d.erste
    union all
    select s.zeile, 'DOPPL', 'id', b.id
    from pg_temp.sichtbeobachtung_import_ort s,
      -- `limit`, so that each line looks into the unique index: the planner read all records instead.
      lateral (
        select b.id
        from portal.sichtbeobachtung b
        where private.is_doppelt(b.nutzer_id, b.art, b.datum, b.point, s.nutzer_id, s.art, s.datum, s.point)
        limit 1) b
    union all
    select s.zeile, 'NTZUN', 'loginname', null
    from pg_temp.sichtbeobachtung_import_ort s
    where s.loginname is not null and s.nutzer_id is null
    union all
    select s.zeile, 'EXPUN', 'experte', null
    from pg_temp.sichtbeobachtung_import_ort s
    where s.experte is not null and s.experte_id is null
    union all
    select s.zeile, 'QUELD', 'zeile', s.erste
    from (
      select o.zeile, min(o.zeile) over (partition by o.quelle_id) as erste
      from pg_temp.sichtbeobachtung_import_ort o
      where o.quelle_id is not null
    ) s
    where s.zeile <> s.erste
    union all
    select s.zeile, 'GUIDD', 'zeile', s.erste
    from (
      select o.zeile, min(o.zeile) over (partition by o.guid) as erste
      from pg_temp.sichtbeobachtung_import_ort o
      where o.guid is not null
    ) s
    where s.zeile <> s.erste
    union all
    -- No index holds all of them: it would cost every report, for what imports alone ask.
    select s.zeile, 'GUIDD', 'id', b.id
    from pg_temp.sichtbeobachtung_import_ort s
    join (
      select b.guid, b.id from portal.sichtbeobachtung b
      where exists (select from pg_temp.sichtbeobachtung_import_ort o where o.guid is not null)
      union
      select h.guid, h.sichtbeobachtung_id from portal.sichtbeobachtung_herkunft h where h.guid is not null
    ) b on b.guid = s.guid
  ),
  page as (
    select f.*, count(*) over () as gesamt
    from fehler f
    order by f.zeile, f.spalte
    limit row_limit
  )
  select p.zeile, coalesce(p.code, o.code),
    case p.code when 'DOPPL' then null when 'GUIDD' then 'guid' when 'QUELD' then 'quelle_id' else coalesce(p.spalte, o.spalte) end,
    case coalesce(p.spalte, 'lat')
      when 'art' then json_build_object('art', s.art)
      when 'stadium_id' then json_build_object('stadium_id', s.stadium_id)
      when 'aktivitaet_id' then json_build_object('aktivitaet_id', s.aktivitaet_id)
      when 'datum' then json_build_object('datum', to_char(s.datum, 'DD.MM.YYYY'))
      when 'loginname' then json_build_object('loginname', s.loginname)
      when 'experte' then json_build_object('experte', s.experte)
      when 'lat' then json_build_object('lat', s.lat::text, 'lon', s.lon::text)
      else json_build_object(p.spalte, p.bezug)
    end,
    p.gesamt
  from page p
  join pg_temp.sichtbeobachtung_import_ort s using (zeile)
  left join lateral (select e.* from private.get_point_fehler(s.lat, s.lon, s.srid) e where p.code is null) o on true
  order by p.zeile, p.spalte;
end
$$;
comment on function api.list_sichtbeobachtung_import_fehler(integer) is
  'Checks what was prepared for an import; returns what is wrong by line, the first row_limit errors and their number';

-- What is left to be stored: how many, and in how many blocks of 8 kB of the staging table.
create or replace function api.count_sichtbeobachtung_import()
  returns table (rows bigint, blocks integer)
  language plpgsql
  volatile
as $$
begin
  return query
  select (select count(*) from pg_temp.sichtbeobachtung_import_ort),
    (pg_relation_size('pg_temp.sichtbeobachtung_import_ort') / current_setting('block_size')::integer)::integer;
end
$$;
comment on function api.count_sichtbeobachtung_import() is 'How many sightings an import will store, and blocks of its staging table';

-- What was staged as files of the rows that are left, by line.
create or replace function api.list_sichtbeobachtung_import_medium()
  returns table (zeile integer, foto text, foto_2 text, foto_3 text, biotopfoto text, audio text)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  return query
  select s.zeile, s.foto, s.foto_2, s.foto_3, s.biotopfoto, s.audio
  from pg_temp.sichtbeobachtung_import_ort s
  where num_nonnulls(s.foto, s.foto_2, s.foto_3, s.biotopfoto, s.audio) > 0
  order by s.zeile;
end
$$;
comment on function api.list_sichtbeobachtung_import_medium() is 'What an import staged as photos and sound files, by line';

-- Stores a part of what was checked. In parts, because what waits for the end of a statement (its rows for the triggers,
-- every check of a reference) is kept until then: 0.4 kB a row. What private.sichtbeobachtung_before_write derives of one row after the
-- other, a fifth of all that an import took, is derived here of all of them; a test compares both.
--   quelle       as in api.prepare_sichtbeobachtung_import
--   first_block  block of the staging table with which the part begins; 0 for the first
--   blocks       length of the part
-- returns        how many were stored
-- errors         23505 one of them was stored by somebody else meanwhile; 23514 a file that was not stored; DATUM, GBIET of what was not checked
create or replace function api.create_sichtbeobachtung_of_import(quelle portal.kurztext, first_block integer, blocks integer)
  returns bigint
  language plpgsql
  volatile
  set jit = off
  set work_mem = '64MB'
  set extra_float_digits = 1
as $$
declare
  v_sequence regclass := pg_get_serial_sequence('portal.sichtbeobachtung', 'id');
  -- Blocks instead of lines: no index to build, and parts of the same size however long the remarks are.
  v_from tid := format('(%s,0)', first_block);
  v_to tid := format('(%s,0)', first_block + blocks);
  v_installation portal.installation;
  v_fehler text;
  v_count bigint;
begin
  select i.* into strict v_installation from portal.installation i;
  select k.fehler into v_fehler
  from pg_temp.sichtbeobachtung_import_ort s
  cross join lateral (
    select case
      when not coalesce(s.datum between date '1800-01-01' and (now() at time zone 'Europe/Berlin')::date, false) then 'DATUM'
      when not coalesce(
        public.st_x(s.point) between v_installation.x_min and v_installation.x_max
        and public.st_y(s.point) between v_installation.y_min and v_installation.y_max, false) then 'GBIET' end as fehler
  ) k
  where s.ctid >= v_from and s.ctid < v_to and k.fehler is not null
  limit 1;
  if found then
    raise exception 'not checked' using errcode = v_fehler;
  end if;

  -- For the trigger.
  perform set_config('portal.abgeleitet', 'import', true);
  with teil as materialized (
    -- Ids beforehand: what else is stored about a record is found by them.
    select nextval(v_sequence) as id, s.*, c.cell_x, c.cell_y, private.to_raster_point(c.cell_x, c.cell_y) as raster_point
    from pg_temp.sichtbeobachtung_import_ort s
    cross join lateral (
      select private.to_cell(public.st_x(s.point)) as cell_x, private.to_cell(public.st_y(s.point)) as cell_y offset 0) c
    where s.ctid >= v_from and s.ctid < v_to
  ),
  geschuetzt as materialized (
    select t.id, k.sensible_art, k.schutz
    from teil t
    cross join lateral private.get_schutz(t.sensibel, t.art, t.cell_x, t.cell_y) k
    -- As in the trigger: most species are sensitive nowhere.
    where t.art in (select am.art from portal.art_mandant am where am.sensibel)
  ),
  abgeleitet as (
    select t.*, coalesce(k.sensible_art, false) as sensible_art, coalesce(k.schutz, private.to_eigener_schutz(t.sensibel)) as schutz,
      coalesce(t.guid, public.uuid_generate_v5(v_installation.guid_namespace, t.id::text)) as eigene_guid
    from teil t
    left join geschuetzt k using (id)
    -- Not for every use anew.
    offset 0
  ),
  gespeichert as (
    insert into portal.sichtbeobachtung (
      id, guid, nutzer_id, art, gid, point, cell_x, cell_y, raster_point, shown_point, sensible_art, schutz, anzahl, sensibel, datum, bereich,
      bemerkung, stadium_id, aktivitaet_id, status, experte_id, foto, foto_2, foto_3, biotopfoto, audio, medien_lizenz, kopf_json)
    overriding system value
    select t.id, t.eigene_guid, t.nutzer_id, t.art, t.gid, t.point, t.cell_x, t.cell_y, t.raster_point,
      private.to_shown_point(t.schutz, t.point, t.raster_point), t.sensible_art, t.schutz, t.anzahl, t.sensibel, t.datum, t.bereich,
      t.bemerkung, t.stadium_id, t.aktivitaet_id, t.status, t.experte_id, t.foto, t.foto_2, t.foto_3, t.biotopfoto, t.audio, t.medien_lizenz,
      case when private.is_shown_to_all(t.bereich, t.status)
        then private.to_kopf_json(t.id, t.eigene_guid, t.anzahl, t.point, t.datum) end
    from abgeleitet t
    returning 1
  ),
  herkunft as (
    insert into portal.sichtbeobachtung_herkunft (sichtbeobachtung_id, quelle, quelle_id, guid)
    select t.id, case when t.quelle_id is not null then create_sichtbeobachtung_of_import.quelle end, t.quelle_id, t.guid
    from teil t
    where num_nonnulls(t.quelle_id, t.guid) > 0
  ),
  benannt as (
    delete from portal.medium_import m
    using teil t, lateral unnest(array[t.foto, t.foto_2, t.foto_3, t.biotopfoto, t.audio]) u (name)
    where num_nonnulls(t.foto, t.foto_2, t.foto_3, t.biotopfoto, t.audio) > 0 and m.name = u.name
  )
  select count(*) into v_count from gespeichert;
  perform set_config('portal.abgeleitet', '', true);
  return v_count;
end
$$;
comment on function api.create_sichtbeobachtung_of_import(portal.kurztext, integer, integer) is
  'Stores a part of the checked import, in the order of the file; returns how many sightings were stored';
