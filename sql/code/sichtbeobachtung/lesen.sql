-- How sightings are shown: one rendering for every list and detail, and the calls that read them.

-- Text as JSON, null as null. Stable, because to_json is: declared immutable it would not be inlined (3.4 ms a page, not 0.9).
create or replace function private.to_json_text(value text)
  returns text
  language sql
  stable
  parallel safe
as $$
  select coalesce(to_json(value)::text, 'null')
$$;

-- A stored file in the rendered text: not its address, because that holds the host of the request and, for files that not
-- everyone may see, a signature. The service puts it in place of this mark, which begins with a character that JSON text
-- never holds as it is, so that no remark can be taken for one.
--   name      of the file, null for none
--   released  everyone may see it
create or replace function private.to_medium_text(name text, released boolean)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select case when name is null then 'null' else '"' || chr(1) || case when released then '+' else '-' end || name || '"' end
$$;

-- The files of a sighting in its JSON, up to the value of bemerkung. Most sightings have none.
--   released         everyone may see them
--   biotop_released  the same of the biotope photo, which a tenant may keep back
create or replace function private.to_medien_json(
  foto text, foto_2 text, foto_3 text, biotopfoto text, audio text, released boolean, biotop_released boolean)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select case when num_nulls(foto, foto_2, foto_3, biotopfoto, audio) = 5
    then ',"foto":null,"foto_2":null,"foto_3":null,"biotopfoto":null,"audio":null,"bemerkung":'
    else ',"foto":' || private.to_medium_text(foto, released)
      || ',"foto_2":' || private.to_medium_text(foto_2, released)
      || ',"foto_3":' || private.to_medium_text(foto_3, released)
      || ',"biotopfoto":' || private.to_medium_text(biotopfoto, biotop_released)
      || ',"audio":' || private.to_medium_text(audio, released)
      || ',"bemerkung":' end
$$;

-- The beginning of a released public record's JSON, up to where its species is named. What everybody asks for is kept on the
-- row: writing numbers, dates and UUIDs as text took half the time of a page.
--   place  EPSG:25832; the true one on the row
create or replace function private.to_kopf_json(id bigint, guid uuid, anzahl integer, place public.geometry, datum date)
  returns text
  language sql
  stable
  parallel safe
as $$
  select '{"id":' || id || ',"guid":"' || guid || '","bereich":"Öffentliche Meldungen","status":"Freigegeben","anzahl":"' || anzahl
    || '","lat":' || public.st_y(place) || ',"lon":' || public.st_x(place)
    || ',"datum":"' || pg_catalog.to_char(datum, 'DD.MM.YYYY') || '","titel_deutsch":'
$$;

-- The names of a species in the JSON of a sighting; those of the tenant, where it has its own.
create or replace function private.to_titel_json(name_deutsch text, name_wissenschaftlich text)
  returns text
  language sql
  stable
  parallel safe
as $$
  select private.to_json_text(name_deutsch) || ',"titel_wissenschaftlich":' || private.to_json_text(name_wissenschaftlich)
$$;

-- What a species is called at a tenant in the JSON of a sighting, up to the value of is_animal.
create or replace function private.to_art_json(art_id text, legacy_regional_art_id integer)
  returns text
  language sql
  stable
  parallel safe
as $$
  select ',"art_id":' || private.to_json_text(art_id) || ',"legacy_regional_art_id":'
    || coalesce(legacy_regional_art_id::text, 'null') || ',"is_animal":'
$$;

-- Renders records as the interface shows them to one reader. Every detail and every list of those who are logged in is built here.
--   id      records, in the order wanted
--   tenant  the addressed tenant: names, ids, sensitivity
--   reader  who asks, null for anonymous
--   detail  the full field set of the single read
-- returns   the members of a JSON array as text, with private.to_medium_text in it; null for none. Concatenated, because that was
--           the fastest way to build it (0.45 ms a page against 0.55 for row_to_json and 1.46 for jsonb_agg)
create or replace function private.render_sichtbeobachtung(id bigint[], tenant integer, reader bigint, detail boolean)
  returns text
  language plpgsql
  stable
as $$
declare
  v_zustaendig portal.zustaendigkeit := private.get_zustaendigkeit(reader, entscheiden => false);
  v_verborgen boolean := private.is_verborgen(tenant);
  -- A handful of groups and stages, read once instead of for every record; recorders are read only when they are shown.
  v_animal_gids integer[] := array(select g.id from portal.artengruppe g where g.is_animal);
  v_other_stadien integer[] := array(select t.id from portal.stadium t where not t.phaenogramm);
  v_result text;
begin
  select string_agg(
    -- What everybody sees is kept on the row (private.to_kopf_json); who is logged in gets the recorder put into it.
    case when k.masked or s.kopf_json is null then '{"id":' || s.id
      || ',"guid":"' || s.guid
      || '","bereich":"' || case s.bereich when 'oeffentlich' then 'Öffentliche Meldungen' else 'Persönliche Erfassungen' end
      || '","status":"' || private.to_status_text(s.status) || '"' || n.erfasser
      || ',"anzahl":"' || s.anzahl || '","lat":' || public.st_y(k.place) || ',"lon":' || public.st_x(k.place)
      || ',"datum":"' || to_char(s.datum, 'DD.MM.YYYY') || '","titel_deutsch":'
    when reader is null then s.kopf_json
    else replace(s.kopf_json, '","anzahl":', '"' || n.erfasser || ',"anzahl":') end
    || coalesce(am.titel_json, (
      select private.to_titel_json(
        coalesce(am.name_deutsch, a.name_deutsch), coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich))
      from portal.art a
      where a.id = s.art))
    || case when detail then ',"eu_guid":' || (select private.to_json_text(a.eu_guid) from portal.art a where a.id = s.art) else '' end
    || private.to_medien_json(
      s.foto, s.foto_2, s.foto_3, case when not k.verborgen then s.biotopfoto end, s.audio, private.is_shown_to_all(s.bereich, s.status),
      private.is_shown_to_all(s.bereich, s.status)
        and not (v_verborgen and private.is_masked(s.schutz, am.sensibel, s.nutzer_id, null, false)))
    || private.to_json_text(case when not k.verborgen then s.bemerkung end)
    || case when reader is null then '' else ',"bemerkung_experte":' || private.to_json_text(s.bemerkung_experte) end
    || ',"phaenogramm":' || (s.stadium_id is null or s.stadium_id <> all (v_other_stadien))
    || coalesce(am.art_json, private.to_art_json(am.art_id, am.legacy_regional_art_id)) || (s.gid = any (v_animal_gids))
    || ',"is_rasterized":' || k.masked
    || ',"sensible_art":' || (s.sensible_art or coalesce(am.sensibel, false))
    || ',"sensibel":' || s.sensibel
    || case when detail then
      ',"stadium":' || private.to_json_text((select t.name from portal.stadium t where t.id = s.stadium_id))
      || ',"stadium_id":' || coalesce(s.stadium_id::text, 'null')
      || ',"aktivitaet":' || private.to_json_text((select t.name from portal.aktivitaet t where t.id = s.aktivitaet_id))
      || ',"aktivitaet_id":' || coalesce(s.aktivitaet_id::text, 'null')
      || (
        select ',"artengruppe":' || private.to_json_text(g.name_deutsch) || ',"artengruppe_id":' || g.id
          || ',"legacy_regional_artengruppe_id":' || coalesce(g.legacy_regional_artengruppe_id::text, 'null')
        from portal.artengruppe g
        where g.id = s.gid)
      || ',"mandanten":' || coalesce((
        select '[' || string_agg(
          '{"kuerzel":' || private.to_json_text(m.kuerzel) || ',"name":' || private.to_json_text(m.name) || '}', ',' order by m.kuerzel) || ']'
        from portal.mandant_sichtbeobachtung l
        join portal.mandant m on m.id = l.mandant_id
        where l.sichtbeobachtung_id = s.id and (l.exakt or k.masked)), '[]')
      else '' end
    || '}', ',' order by o.position)
  into v_result
  from unnest(render_sichtbeobachtung.id) with ordinality o (id, position)
  join portal.sichtbeobachtung s on s.id = o.id
  -- `lateral … limit 1`, because as a plain join the planner reads all definitions of the tenant
  left join lateral (
    select d.titel_json, d.art_json, d.art_id, d.legacy_regional_art_id, d.name_deutsch, d.name_wissenschaftlich, d.sensibel
    from portal.art_mandant d
    where d.mandant_id = tenant and d.art = s.art
    limit 1
  ) am on true
  -- `offset 0`: evaluated once a record. Written into each expression that uses it, it kept private.to_medien_json from being inlined,
  -- which took half the time of a page.
  cross join lateral (
    select private.is_masked(
      s.schutz, am.sensibel, s.nutzer_id, reader, private.is_zustaendig(v_zustaendig, s.id, s.gid)) as masked
    offset 0
  ) d
  cross join lateral (
    select d.masked, d.masked and v_verborgen as verborgen, case when d.masked then s.raster_point else s.point end as place
  ) k
  cross join lateral (
    select case when reader is null then '' else
      ',"erfasser":' || private.to_json_text((
        select private.to_shown_name(u.vorname, u.nachname, u.anonymisiert = 1 and not private.is_zustaendig(v_zustaendig, s.id, s.gid))
        from portal.nutzer u
        where u.id = s.nutzer_id))
      || ',"uid":' || s.nutzer_id
      || case when detail then
        ',"experte":' || private.to_json_text((
          select private.to_shown_name(e.vorname, e.nachname, e.anonymisiert = 1 and not private.is_zustaendig(v_zustaendig, s.id, s.gid))
          from portal.nutzer e
          where e.id = s.experte_id and s.status = 'freigegeben'))
        else '' end
      end as erfasser
    offset 0
  ) n;
  return v_result;
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

-- Released public records as everybody sees them: what private.render_sichtbeobachtung returns for anonymous readers, in half
-- the time, from the text that the rows and the species keep.
--   id      ids of such records, in the order of the answer; another is left out
--   gone    null for a list; for the feed, of which ids mirrors are told that they are gone, the records of which are not looked at
--   tenant  the addressed tenant
-- returns     their JSON with commas between; in the feed each within an object that begins with its id
create or replace function private.render_sichtbeobachtung_of_all(id bigint[], gone boolean[], tenant integer)
  returns text
  language plpgsql
  stable
as $$
declare
  v_is_feed constant boolean := gone is not null;
  v_verborgen boolean := private.is_verborgen(tenant);
  v_animal_gids integer[] := array(select g.id from portal.artengruppe g where g.is_animal);
  v_other_stadien integer[] := array(select t.id from portal.stadium t where not t.phaenogramm);
  v_result text;
begin
  select string_agg(
    case when o.gone then '{"id":' || o.id || ',"geloescht":true' else
    case when v_is_feed then '{"id":' || o.id || ',"sichtbeobachtung":' else '' end
    || case when k.masked then private.to_kopf_json(s.id, s.guid, s.anzahl, s.raster_point, s.datum)
      else coalesce(s.kopf_json, private.to_kopf_json(s.id, s.guid, s.anzahl, s.point, s.datum)) end
    || coalesce(am.titel_json, (
      select private.to_titel_json(
        coalesce(am.name_deutsch, a.name_deutsch), coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich))
      from portal.art a
      where a.id = s.art))
    || private.to_medien_json(
      s.foto, s.foto_2, s.foto_3, case when v_verborgen and k.masked then null else s.biotopfoto end, s.audio, true, true)
    || private.to_json_text(case when v_verborgen and k.masked then null else s.bemerkung end)
    || case when s.stadium_id is null or s.stadium_id <> all (v_other_stadien) then ',"phaenogramm":true' else ',"phaenogramm":false' end
    || coalesce(am.art_json, private.to_art_json(am.art_id, am.legacy_regional_art_id))
    || case when s.gid = any (v_animal_gids) then 'true' else 'false' end
    || case when k.masked then ',"is_rasterized":true' else ',"is_rasterized":false' end
    || case when s.sensible_art or am.sensibel then ',"sensible_art":true' else ',"sensible_art":false' end
    || case when s.sensibel then ',"sensibel":true}' else ',"sensibel":false}' end
    -- In the feed this ends the object around each.
    end, case when v_is_feed then '},' else ',' end order by o.position)
  into v_result
  from unnest(render_sichtbeobachtung_of_all.id, render_sichtbeobachtung_of_all.gone) with ordinality o (id, gone, position)
  -- `case`, so that no partial index fits: see private.list_gezeigt_raster.
  left join portal.sichtbeobachtung s on s.id = o.id and o.gone is not true
    and case when s.bereich = 'oeffentlich' then s.status = 'freigegeben' else false end
  left join lateral (
    select d.titel_json, d.art_json, d.art_id, d.legacy_regional_art_id, d.name_deutsch, d.name_wissenschaftlich, d.sensibel
    from portal.art_mandant d
    where d.mandant_id = tenant and d.art = s.art
    limit 1
  ) am on true
  cross join lateral (
    select private.is_masked(s.schutz, am.sensibel, s.nutzer_id, null, false) as masked
  ) k;
  return case when v_is_feed then v_result || '}' else v_result end;
end
$$;

-- A page of records as this reader is shown them, of which all at once were too much: ended before it becomes larger than a page may
-- be; its first record is always there. A hundred at a time, and where those are too many fewer.
--   id         records, in the order of the answer
--   gone       as in private.render_sichtbeobachtung_of_all: for the feed; otherwise null
--   max_bytes  of the page
-- returns      result: JSON array as text; shown: how many of the records are in it
create or replace function private.render_page(id bigint[], gone boolean[], tenant integer, reader bigint, max_bytes integer)
  returns table (result text, shown integer)
  language plpgsql
  stable
  rows 1
as $$
#variable_conflict use_variable
declare
  v_count constant integer := cardinality(id);
  v_rows text := '';
  v_part text;
  v_step integer := 100;
begin
  shown := 0;
  while shown < v_count loop
    v_part := case when reader is null then private.render_sichtbeobachtung_of_all(
        id[shown + 1:shown + v_step], gone[shown + 1:shown + v_step], tenant)
      else private.render_sichtbeobachtung(id[shown + 1:shown + v_step], tenant, reader, detail => false) end;
    if octet_length(v_rows) + octet_length(v_part) <= max_bytes or (shown = 0 and v_step = 1) then
      v_rows := case when shown = 0 then v_part else v_rows || ',' || v_part end;
      shown := least(shown + v_step, v_count);
    elsif v_step > 1 then
      v_step := v_step / 10;
    else
      exit;
    end if;
  end loop;
  result := '[' || v_rows || ']';
  return next;
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
    where s.id = get_sichtbeobachtung.id and private.is_visible(s.bereich, s.status, s.nutzer_id, reader)) then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  return '[' || private.render_sichtbeobachtung(array[get_sichtbeobachtung.id], tenant, reader, detail => true) || ']';
end
$$;
comment on function api.get_sichtbeobachtung(integer, bigint, bigint) is
  'One sighting with all fields as JSON text, masked for this reader';
