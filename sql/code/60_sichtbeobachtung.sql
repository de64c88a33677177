-- Sightings: what is derived on every write, the one masking rule, and the calls create, get and list.

-- THE masking rule (D4): whether this reader sees the cell's centre instead of the true point. Everything that shows,
-- filters or exports a place goes through it. Scalars instead of the row, so that it is inlined into where-clauses.
--   schutz     of the record: 2 protected under every domain, 1 only where the addressed tenant protects the species
--   sensibel_here  the addressed tenant protects the species (null counts as no)
--   nutzer_id  owner of the record
--   reader     who asks, null for anonymous
--   exempt     the reader is administrator or expert
-- returns      true: only the cell may be seen
create or replace function private.is_masked(schutz smallint, sensibel_here boolean, nutzer_id bigint, reader bigint, exempt boolean)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select not exempt and nutzer_id is distinct from reader and (schutz = 2 or (schutz = 1 and coalesce(sensibel_here, false)))
$$;

-- How far a record is protected, before anybody asks for it.
--   sensibel   the recorder's own mark
--   art        species
--   cell_x, cell_y  its cell
-- returns      sensible_art: sensitive in a tenant that the cell touches; schutz: see portal.sichtbeobachtung
create or replace function private.get_schutz(sensibel boolean, art integer, cell_x integer, cell_y integer)
  returns table (sensible_art boolean, schutz smallint)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_column
begin
  -- Most species are sensitive nowhere: one look into a small partial index.
  if not exists (select from portal.art_mandant am where am.art = get_schutz.art and am.sensibel) then
    return query select false, case when get_schutz.sensibel then 2 else 0 end::smallint;
    return;
  end if;
  sensible_art := exists (
    select
    from portal.mandant_zelle z
    join portal.art_mandant am on am.mandant_id = z.mandant_id
    where z.cell_x = get_schutz.cell_x and z.cell_y = get_schutz.cell_y and am.art = get_schutz.art and am.sensibel);
  schutz := case when get_schutz.sensibel or sensible_art then 2 else 1 end;
  return next;
end
$$;

create or replace function private.sichtbeobachtung_before_statement()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.require_catalogue_lock(exclusive => false);
  return null;
end
$$;

-- The change log has an entry for every deletion; TRUNCATE tells no trigger which rows it removes.
create or replace function private.sichtbeobachtung_before_truncate()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  raise exception 'sightings are removed with DELETE, so that the change log knows' using errcode = 'LEERN';
end
$$;

-- Derives a record's columns from what was written. For every writer, SQL included; what a writer puts into a derived
-- column is overwritten.
-- errors  DATUM date before 1800 or in the future (Europe/Berlin); GBIET outside the service area; ARTUN no such species
create or replace function private.sichtbeobachtung_before_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_installation portal.installation;
begin
  select i.* into strict v_installation from portal.installation i;

  if tg_op = 'INSERT' then
    new.guid := public.uuid_generate_v5(v_installation.guid_namespace, new.id::text);
  else
    new.id := old.id;
    new.guid := old.guid;
    -- D3.2: what is published is reviewed anew, unless the writer releases it in the same stroke.
    if old.bereich = 'privat' and new.bereich = 'oeffentlich' and new.status <> 'freigegeben' then
      new.status := 'pruefung';
    end if;
  end if;

  if tg_op = 'INSERT' or new.datum <> old.datum then
    if new.datum < date '1800-01-01' or new.datum > (pg_catalog.now() at time zone 'Europe/Berlin')::date then
      raise exception 'date outside 01.01.1800 to today' using errcode = 'DATUM', column = 'datum';
    end if;
  end if;
  if tg_op = 'INSERT' or not public.st_orderingequals(new.point, old.point) then
    if not coalesce(
      public.st_x(new.point) between v_installation.x_min and v_installation.x_max
      and public.st_y(new.point) between v_installation.y_min and v_installation.y_max, false) then
      raise exception 'outside the service area' using errcode = 'GBIET', column = 'lat';
    end if;
  end if;

  new.cell_x := private.to_cell(public.st_x(new.point));
  new.cell_y := private.to_cell(public.st_y(new.point));
  new.raster_point := private.to_raster_point(new.cell_x, new.cell_y);
  select a.gid into new.gid from portal.art a where a.id = new.art;
  if new.gid is null then
    raise exception 'no such species' using errcode = 'ARTUN', column = 'art';
  end if;
  select k.sensible_art, k.schutz into strict new.sensible_art, new.schutz
  from private.get_schutz(new.sensibel, new.art, new.cell_x, new.cell_y) k;
  new.shown_point := case when new.schutz = 2 then new.raster_point else new.point end;
  return new;
end
$$;

-- The tenants that a record's row in the link table must name: those of its point, and when anybody protects it those
-- of its whole cell.
create or replace function private.list_mandant_of_sichtbeobachtung(point public.geometry, cell_x integer, cell_y integer, schutz smallint)
  returns table (mandant_id integer, exakt boolean)
  language sql
  stable
  rows 2
as $$
  select k.mandant_id, k.exakt
  from (
    select z.mandant_id,
      z.ganz or exists (
        select from portal.mandant_teil t
        where t.mandant_id = z.mandant_id and public.st_intersects(t.teil, point)) as exakt
    from portal.mandant_zelle z
    where z.cell_x = list_mandant_of_sichtbeobachtung.cell_x and z.cell_y = list_mandant_of_sichtbeobachtung.cell_y
  ) k
  where k.exakt or schutz > 0
$$;

create or replace function private.sichtbeobachtung_mandant_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.sichtbeobachtung_mandant (mandant_id, sichtbeobachtung_id, gid, exakt)
  select k.mandant_id, n.id, n.gid, k.exakt
  from new_row n, private.list_mandant_of_sichtbeobachtung(n.point, n.cell_x, n.cell_y, n.schutz) k;
  return null;
end
$$;

create or replace function private.sichtbeobachtung_mandant_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.set_sichtbeobachtung_mandant(array(
    select n.id
    from new_row n
    join old_row o using (id)
    where not public.st_orderingequals(n.point, o.point) or n.gid <> o.gid or (n.schutz > 0) <> (o.schutz > 0)));
  return null;
end
$$;

-- Brings the tenants of records in line with boundaries and protection; touches only what differs.
--   id       records
-- returns    those of them whose tenants changed, as far as anybody is shown them
create or replace function private.set_sichtbeobachtung_mandant(id bigint[])
  returns bigint[]
  language plpgsql
  volatile
as $$
declare
  v_changed bigint[];
begin
  if pg_catalog.cardinality(id) = 0 then
    return '{}';
  end if;
  with wanted as (
    select k.mandant_id, s.id as sichtbeobachtung_id, s.gid, s.schutz, k.exakt
    from portal.sichtbeobachtung s, private.list_mandant_of_sichtbeobachtung(s.point, s.cell_x, s.cell_y, s.schutz) k
    where s.id = any (set_sichtbeobachtung_mandant.id)
  ),
  present as (
    select l.mandant_id, l.sichtbeobachtung_id, l.exakt
    from portal.sichtbeobachtung_mandant l
    where l.sichtbeobachtung_id = any (set_sichtbeobachtung_mandant.id)
  ),
  removed as (
    delete from portal.sichtbeobachtung_mandant l
    where l.sichtbeobachtung_id = any (set_sichtbeobachtung_mandant.id)
      and not exists (
        select from wanted w where w.mandant_id = l.mandant_id and w.sichtbeobachtung_id = l.sichtbeobachtung_id)
  ),
  written as (
    insert into portal.sichtbeobachtung_mandant as l (mandant_id, sichtbeobachtung_id, gid, exakt)
    select w.mandant_id, w.sichtbeobachtung_id, w.gid, w.exakt from wanted w
    on conflict (mandant_id, sichtbeobachtung_id) do update
      set gid = excluded.gid, exakt = excluded.exakt
      where (l.gid, l.exakt) is distinct from (excluded.gid, excluded.exakt)
  )
  -- On which side of a border a protected record lies is part of its place: `exakt` alone counts for the others only.
  select coalesce(array_agg(distinct sichtbeobachtung_id), '{}') into v_changed
  from present p
  full join wanted w using (mandant_id, sichtbeobachtung_id)
  where p.mandant_id is null or w.mandant_id is null or (p.exakt <> w.exakt and w.schutz < 2);
  return v_changed;
end
$$;

-- Brings protection and tenants of records in line with catalogue and boundaries, and logs those whose shown place or
-- tenants change (D3.14). Called by trigger functions when a boundary changes.
--   id  records
create or replace function private.set_sichtbeobachtung_schutz(id bigint[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_updated bigint[];
  v_moved bigint[];
begin
  if pg_catalog.cardinality(id) = 0 then
    return;
  end if;
  -- The triggers on the table write links and log for a change of schutz.
  with updated as (
    update portal.sichtbeobachtung s
    set schutz = k.schutz, sensible_art = k.sensible_art
    from portal.sichtbeobachtung t, private.get_schutz(t.sensibel, t.art, t.cell_x, t.cell_y) k
    where t.id = any (set_sichtbeobachtung_schutz.id) and s.id = t.id
      and (s.schutz, s.sensible_art) is distinct from (k.schutz, k.sensible_art)
    returning s.id, t.schutz <> s.schutz as moved
  )
  select coalesce(array_agg(u.id) filter (where u.moved), '{}') into v_updated from updated u;

  v_moved := private.set_sichtbeobachtung_mandant(id);
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', m.id from unnest(v_moved) m (id) where m.id <> all (v_updated) order by m.id;
end
$$;

-- The same for all records of some species, when the catalogue changes. A record that only other tenants protect keeps
-- its columns when one more of them does, but is shown elsewhere at that tenant: logged too.
--   art  species
create or replace function private.set_schutz_of_art(art integer[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_updated bigint[];
begin
  with updated as (
    update portal.sichtbeobachtung s
    set schutz = k.schutz, sensible_art = k.sensible_art
    from portal.sichtbeobachtung t, private.get_schutz(t.sensibel, t.art, t.cell_x, t.cell_y) k
    where t.art = any (set_schutz_of_art.art) and s.id = t.id
      and (s.schutz, s.sensible_art) is distinct from (k.schutz, k.sensible_art)
    returning s.id
  )
  select coalesce(array_agg(u.id), '{}') into v_updated from updated u;

  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', s.id
  from portal.sichtbeobachtung s
  where s.art = any (set_schutz_of_art.art) and s.schutz = 1 and s.id <> all (v_updated)
  order by s.id;
end
$$;

-- The record that is the same report (D2.6): user, species, date and place to the millimetre. Null when there is none.
--   point  EPSG:25832
create or replace function private.get_doppelt(nutzer_id bigint, art integer, datum date, point public.geometry)
  returns bigint
  language sql
  stable
as $$
  select s.id
  from portal.sichtbeobachtung s
  where s.nutzer_id = get_doppelt.nutzer_id and s.art = get_doppelt.art and s.datum = get_doppelt.datum
    and round(public.st_x(s.point) * 1000) = round(public.st_x(get_doppelt.point) * 1000)
    and round(public.st_y(s.point) * 1000) = round(public.st_y(get_doppelt.point) * 1000)
$$;

-- Checks what a sighting refers to; null is not checked.
-- errors  ARTUN, STDUN, AKTUN (column names the field)
create or replace function private.require_reference(tenant integer, art integer, stadium_id integer, aktivitaet_id integer)
  returns void
  language plpgsql
  stable
as $$
begin
  if art is not null
    and not exists (select from portal.art_mandant am where am.mandant_id = tenant and am.art = require_reference.art) then
    raise exception 'the tenant does not define this species' using errcode = 'ARTUN', column = 'art';
  end if;
  if stadium_id is not null and not exists (select from portal.stadium s where s.id = stadium_id) then
    raise exception 'no such stage' using errcode = 'STDUN', column = 'stadium_id';
  end if;
  if aktivitaet_id is not null and not exists (select from portal.aktivitaet a where a.id = aktivitaet_id) then
    raise exception 'no such activity' using errcode = 'AKTUN', column = 'aktivitaet_id';
  end if;
end
$$;

-- Stores a sighting (api-v2 POST /sichtbeobachtungen).
--   tenant    the addressed tenant, which must define the species
--   reader    the recorder
--   lat, lon  northing and easting in the unit of srid; srid 25832, 4326 or 3857
--   datum     null = today in Europe/Berlin
-- errors      ARTUN, WERTB, GBTAU, GBIET, DATUM, STDUN, AKTUN (column names the field);
--             DOPPL the same species, place and date is stored for this user already (detail = its id)
create or replace function api.create_sichtbeobachtung(
  tenant integer, reader bigint, art integer, lat float8, lon float8, srid integer, anzahl integer, sensibel boolean,
  datum date, bereich text, bemerkung text, stadium_id integer, aktivitaet_id integer)
  returns table (id bigint, guid uuid)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_point public.geometry := private.to_point(lat, lon, srid);
  v_datum date := coalesce(create_sichtbeobachtung.datum, (now() at time zone 'Europe/Berlin')::date);
  v_existing bigint;
begin
  perform private.require_reference(
    tenant, create_sichtbeobachtung.art, create_sichtbeobachtung.stadium_id, create_sichtbeobachtung.aktivitaet_id);

  loop
    insert into portal.sichtbeobachtung as s (
      nutzer_id, art, point, anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id)
    values (
      reader, create_sichtbeobachtung.art, v_point, create_sichtbeobachtung.anzahl, create_sichtbeobachtung.sensibel, v_datum,
      create_sichtbeobachtung.bereich::portal.bereich, create_sichtbeobachtung.bemerkung,
      create_sichtbeobachtung.stadium_id, create_sichtbeobachtung.aktivitaet_id)
    on conflict (nutzer_id, art, datum, round(public.st_x(point) * 1000), round(public.st_y(point) * 1000)) do nothing
    returning s.id, s.guid into id, guid;
    if found then
      return next;
      return;
    end if;
    v_existing := private.get_doppelt(reader, create_sichtbeobachtung.art, v_datum, v_point);
    if v_existing is not null then
      raise exception 'stored already' using errcode = 'DOPPL', detail = v_existing;
    end if;
    -- deleted between the two statements: it may be stored after all
  end loop;
end
$$;
comment on function api.create_sichtbeobachtung(integer, bigint, integer, float8, float8, integer, integer, boolean, date, text, text, integer, integer) is
  'Stores a sighting at a position in EPSG:25832, 4326 or 3857, as the addressed tenant and the user; returns id and guid';

-- Text as JSON, null as null.
create or replace function private.to_json_text(value text)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select coalesce(to_json(value)::text, 'null')
$$;

-- Renders records as the interface shows them to one reader. Every list and detail is built here.
--   id      records, in the order wanted
--   tenant  the addressed tenant: names, ids, sensitivity
--   reader  who asks, null for anonymous
--   detail  the full field set of the single read
-- returns   JSON array as text; concatenated, because that was the fastest way to build it (0.45 ms a page against 0.55
--           for row_to_json and 1.46 for jsonb_agg)
create or replace function private.render_sichtbeobachtung(id bigint[], tenant integer, reader bigint, detail boolean)
  returns text
  language plpgsql
  stable
as $$
declare
  v_exempt boolean := private.is_exempt(reader);
  v_result text;
begin
  select string_agg(
    '{"id":' || s.id
    || ',"guid":"' || s.guid
    || '","bereich":"' || case s.bereich when 'oeffentlich' then 'Öffentliche Meldungen' else 'Persönliche Erfassungen' end
    || '","status":"' || private.to_status_text(s.status)
    || case when reader is null then '"' else
      '","erfasser":' || private.to_json_text(private.to_shown_name(u.vorname, u.nachname, u.anonymisiert = 1 and not v_exempt))
      || ',"uid":' || s.nutzer_id
      || case when detail then
        ',"experte":' || private.to_json_text((
          select private.to_shown_name(e.vorname, e.nachname, e.anonymisiert = 1 and not v_exempt)
          from portal.nutzer e
          where e.id = s.experte_id and s.status = 'freigegeben'))
        else '' end
      end
    || ',"anzahl":"' || s.anzahl
    || '","lat":' || public.st_y(k.place)
    || ',"lon":' || public.st_x(k.place)
    || ',"datum":"' || to_char(s.datum, 'DD.MM.YYYY')
    || '","titel_deutsch":' || private.to_json_text(coalesce(am.name_deutsch, a.name_deutsch))
    || ',"titel_wissenschaftlich":' || private.to_json_text(coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich))
    || case when detail then ',"eu_guid":' || private.to_json_text(a.eu_guid) else '' end
    || ',"foto":' || private.to_json_text(s.foto)
    || ',"foto_2":' || private.to_json_text(s.foto_2)
    || ',"foto_3":' || private.to_json_text(s.foto_3)
    || ',"biotopfoto":' || private.to_json_text(s.biotopfoto)
    || ',"audio":' || private.to_json_text(s.audio)
    || ',"bemerkung":' || private.to_json_text(s.bemerkung)
    || case when reader is null then '' else ',"bemerkung_experte":' || private.to_json_text(s.bemerkung_experte) end
    || ',"phaenogramm":' || coalesce(st.phaenogramm, true)
    || ',"art_id":' || private.to_json_text(am.art_id)
    || ',"legacy_regional_art_id":' || coalesce(am.legacy_regional_art_id::text, 'null')
    || ',"is_animal":' || g.is_animal
    || ',"is_rasterized":' || k.masked
    || ',"sensible_art":' || (s.sensible_art or coalesce(am.sensibel, false))
    || ',"sensibel":' || s.sensibel
    || case when detail then
      ',"stadium":' || private.to_json_text(st.name)
      || ',"stadium_id":' || coalesce(s.stadium_id::text, 'null')
      || ',"aktivitaet":' || private.to_json_text((select t.name from portal.aktivitaet t where t.id = s.aktivitaet_id))
      || ',"aktivitaet_id":' || coalesce(s.aktivitaet_id::text, 'null')
      || ',"artengruppe":' || private.to_json_text(g.name_deutsch)
      || ',"artengruppe_id":' || s.gid
      || ',"legacy_regional_artengruppe_id":' || coalesce(g.legacy_regional_artengruppe_id::text, 'null')
      || ',"mandanten":' || coalesce((
        select '[' || string_agg(
          '{"kuerzel":' || private.to_json_text(m.kuerzel) || ',"name":' || private.to_json_text(m.name) || '}', ',' order by m.kuerzel) || ']'
        from portal.sichtbeobachtung_mandant l
        join portal.mandant m on m.id = l.mandant_id
        where l.sichtbeobachtung_id = s.id and (l.exakt or k.masked)), '[]')
      else '' end
    || '}', ',' order by o.position)
  into v_result
  from unnest(render_sichtbeobachtung.id) with ordinality o (id, position)
  join portal.sichtbeobachtung s on s.id = o.id
  join portal.art a on a.id = s.art
  join portal.artengruppe g on g.id = s.gid
  join portal.nutzer u on u.id = s.nutzer_id
  left join portal.stadium st on st.id = s.stadium_id
  -- `lateral … limit 1`, because as a plain join the planner reads all definitions of the tenant
  left join lateral (
    select d.art_id, d.name_deutsch, d.name_wissenschaftlich, d.sensibel, d.legacy_regional_art_id
    from portal.art_mandant d
    where d.mandant_id = tenant and d.art = s.art
    limit 1
  ) am on true
  cross join lateral (
    select private.is_masked(s.schutz, am.sensibel, s.nutzer_id, reader, v_exempt) as masked
  ) d
  cross join lateral (
    select d.masked, case when d.masked then s.raster_point else s.point end as place
  ) k;
  return '[' || coalesce(v_result, '') || ']';
end
$$;

-- Status in the words of the interface (D2.14).
create or replace function private.to_status_text(status portal.status)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select case status
    when 'freigegeben' then 'Freigegeben'
    when 'pruefung' then 'In Prüfung'
    when 'hinweis' then 'Mit Hinweis'
    when 'abgelehnt' then 'Abgelehnt'
  end
$$;

-- One sighting as this reader may see it.
-- errors  NFUND unknown, or not for this reader (D2.4)
create or replace function api.get_sichtbeobachtung(tenant integer, reader bigint, id bigint)
  returns text
  language plpgsql
  stable
as $$
begin
  if not exists (
    select from portal.sichtbeobachtung s
    where s.id = get_sichtbeobachtung.id
      and case when s.bereich = 'privat' then s.nutzer_id = reader else s.status = 'freigegeben' or reader is not null end) then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  return private.render_sichtbeobachtung(array[get_sichtbeobachtung.id], tenant, reader, detail => true);
end
$$;
comment on function api.get_sichtbeobachtung(integer, bigint, bigint) is
  'One sighting with all fields as JSON text, masked for this reader';

-- One page of sightings, id descending (D1.11).
--   tenant        the addressed tenant
--   reader        who asks, null for anonymous
--   bereich       oeffentlich, privat or persoenlich
--   mandant       abbreviation of a tenant, any case
--   bbox          left, bottom, right, top in EPSG:25832 (metres), edges included
--   before_id     only records with a smaller id (the cursor)
--   others        filters as in api-v2, null = any
-- returns         result: JSON array as text; last_id: the id to go on after, null on the last page
-- errors          ANMLD (column names the parameter) needs a login; MANUN no such tenant
create or replace function api.list_sichtbeobachtung(
  tenant integer, reader bigint, bereich text, status text, titel_deutsch text, titel_wissenschaftlich text, eu_guid text,
  art_id text, legacy_regional_art_id integer, artengruppe_id integer, legacy_regional_artengruppe_id integer,
  is_animal boolean, jahr integer, datum_von date, datum_bis date, mandant text, bbox float8[], before_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_arts integer[];
  v_gids integer[];
  v_mandant integer;
  v_id bigint[];
begin
  if reader is null and list_sichtbeobachtung.bereich <> 'oeffentlich' then
    raise exception 'needs a login' using errcode = 'ANMLD', column = 'bereich';
  end if;
  if reader is null and list_sichtbeobachtung.status <> 'freigegeben' then
    raise exception 'needs a login' using errcode = 'ANMLD', column = 'status';
  end if;

  if list_sichtbeobachtung.mandant is not null then
    select m.id into v_mandant from portal.mandant m where lower(m.kuerzel) = lower(list_sichtbeobachtung.mandant);
    if not found then
      raise exception 'no such tenant' using errcode = 'MANUN', column = 'mandant';
    end if;
  end if;
  v_arts := private.list_art_of_filter(
    tenant, list_sichtbeobachtung.titel_deutsch, list_sichtbeobachtung.titel_wissenschaftlich, list_sichtbeobachtung.eu_guid,
    list_sichtbeobachtung.art_id, list_sichtbeobachtung.legacy_regional_art_id);
  if coalesce(artengruppe_id, list_sichtbeobachtung.legacy_regional_artengruppe_id, list_sichtbeobachtung.is_animal::integer) is not null then
    v_gids := array(
      select g.id from portal.artengruppe g
      where (artengruppe_id is null or g.id = artengruppe_id)
        and (list_sichtbeobachtung.legacy_regional_artengruppe_id is null
          or g.legacy_regional_artengruppe_id = list_sichtbeobachtung.legacy_regional_artengruppe_id)
        and (list_sichtbeobachtung.is_animal is null or g.is_animal = list_sichtbeobachtung.is_animal));
  end if;

  -- One more than asked for tells whether there is a further page.
  v_id := private.list_sichtbeobachtung_id(
    tenant, reader, list_sichtbeobachtung.bereich, list_sichtbeobachtung.status::portal.status, v_arts, v_gids,
    list_sichtbeobachtung.jahr, datum_von, datum_bis, v_mandant, bbox,
    coalesce(before_id, 9007199254740991), row_limit + 1);
  if cardinality(v_id) > row_limit then
    v_id := v_id[:row_limit];
    last_id := v_id[row_limit];
  end if;
  result := private.render_sichtbeobachtung(v_id, tenant, reader, detail => false);
  return next;
end
$$;
comment on function api.list_sichtbeobachtung(integer, bigint, text, text, text, text, text, text, integer, integer, integer, boolean, integer, date, date, text, float8[], bigint, integer) is
  'Sightings that match all filters, id descending, masked for this reader: one page as JSON text; last_id is the id to go on after, null on the last page';

-- Stores many sightings at once, in the order given; a sighting that is stored already is passed over.
--   rows    JSON array of objects: nutzer_id, art, lat, lon, srid, anzahl, sensibel, datum (YYYY-MM-DD), bereich, bemerkung,
--           stadium_id, aktivitaet_id, status, experte_id; all but the first four may be null
-- returns   how many were stored
-- errors    as api.create_sichtbeobachtung
create or replace function api.create_sichtbeobachtungen(rows text)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_count bigint;
begin
  insert into portal.sichtbeobachtung (
    nutzer_id, art, point, anzahl, sensibel, datum, bereich, bemerkung, stadium_id, aktivitaet_id, status, experte_id)
  select r.nutzer_id, r.art, private.to_point(r.lat, r.lon, coalesce(r.srid, 25832)), coalesce(r.anzahl, 1), coalesce(r.sensibel, false),
    coalesce(r.datum, (now() at time zone 'Europe/Berlin')::date), coalesce(r.bereich, 'privat'), r.bemerkung, r.stadium_id,
    r.aktivitaet_id, coalesce(r.status, 'pruefung'), r.experte_id
  from json_array_elements(create_sichtbeobachtungen.rows::json) with ordinality e (value, position),
    json_to_record(e.value) r (
      nutzer_id bigint, art integer, lat float8, lon float8, srid integer, anzahl integer, sensibel boolean, datum date,
      bereich portal.bereich, bemerkung text, stadium_id integer, aktivitaet_id integer, status portal.status, experte_id bigint)
  order by e.position
  on conflict do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
comment on function api.create_sichtbeobachtungen(text) is
  'Stores many sightings given as a JSON array; returns how many were not there already';
