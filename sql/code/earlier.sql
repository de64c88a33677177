-- What instances of earlier releases call while they are being replaced: functions whose signature has changed since. They hand on to
-- the present ones and know nothing themselves.

-- up to 0.4.0
create or replace function api.list_sichtbeobachtung(
  tenant integer, reader bigint, bereich portal.kurztext, status portal.kurztext, titel_deutsch portal.kurztext,
  titel_wissenschaftlich portal.kurztext, eu_guid portal.kurztext, art_id portal.kurztext, legacy_regional_art_id integer,
  artengruppe_id integer, legacy_regional_artengruppe_id integer, is_animal boolean, jahr integer, datum_von date,
  datum_bis date, mandant portal.kurztext, bbox float8[], before_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language sql
  stable
as $$
  select l.result, l.last_id
  from api.list_sichtbeobachtung(tenant, reader, jsonb_strip_nulls(jsonb_build_object(
    'bereich', bereich, 'status', status, 'titel_deutsch', titel_deutsch, 'titel_wissenschaftlich', titel_wissenschaftlich,
    'eu_guid', eu_guid, 'art_id', art_id, 'legacy_regional_art_id', legacy_regional_art_id, 'artengruppe_id', artengruppe_id,
    'legacy_regional_artengruppe_id', legacy_regional_artengruppe_id, 'is_animal', is_animal, 'jahr', jahr, 'datum_von', datum_von,
    'datum_bis', datum_bis, 'mandant', mandant, 'bbox', to_jsonb(bbox))), before_id, row_limit) l
$$;
comment on function api.list_sichtbeobachtung(integer, bigint, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, integer, integer, integer, boolean, integer, date, date, portal.kurztext, float8[], bigint, integer) is
  'Sightings that match all filters, which come one by one; for instances up to release 0.4.0';

-- up to 0.3.0
create or replace function api.create_sichtbeobachtung(
  tenant integer, reader bigint, art integer, lat float8, lon float8, srid integer, anzahl integer, sensibel boolean,
  datum date, bereich portal.kurztext, bemerkung portal.bemerkung, stadium_id integer, aktivitaet_id integer,
  foto portal.kurztext, foto_2 portal.kurztext, foto_3 portal.kurztext, biotopfoto portal.kurztext, audio portal.kurztext)
  returns table (id bigint, guid uuid)
  language sql
  volatile
as $$
  select c.id, c.guid
  from api.create_sichtbeobachtung(tenant, reader, jsonb_build_object(
    'art', art, 'lat', lat, 'lon', lon, 'srid', srid, 'anzahl', anzahl, 'sensibel', sensibel, 'datum', datum, 'bereich', bereich,
    'bemerkung', bemerkung, 'stadium_id', stadium_id, 'aktivitaet_id', aktivitaet_id, 'foto', foto, 'foto_2', foto_2,
    'foto_3', foto_3, 'biotopfoto', biotopfoto, 'audio', audio)) c
$$;
comment on function api.create_sichtbeobachtung(integer, bigint, integer, float8, float8, integer, integer, boolean, date, portal.kurztext, portal.bemerkung, integer, integer, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext) is
  'Stores a sighting whose fields come one by one; for instances of release 0.3.0';

-- up to 0.3.0
--   fields  names of the fields that were sent; the values of all others are ignored
create or replace function api.update_sichtbeobachtung(
  tenant integer, reader bigint, id bigint, fields portal.kurztexte, art integer, lat float8, lon float8, srid integer,
  anzahl integer, sensibel boolean, datum date, bereich portal.kurztext, bemerkung portal.bemerkung, stadium_id integer,
  aktivitaet_id integer, status portal.kurztext, foto portal.kurztext, foto_2 portal.kurztext, foto_3 portal.kurztext,
  biotopfoto portal.kurztext, audio portal.kurztext)
  returns text[]
  language sql
  volatile
as $$
  select api.update_sichtbeobachtung(tenant, reader, id, (
    select coalesce(jsonb_object_agg(f.key, f.value), '{}')
    from jsonb_each(jsonb_build_object(
      'art', art, 'lat', lat, 'lon', lon, 'srid', srid, 'anzahl', anzahl, 'sensibel', sensibel, 'datum', datum, 'bereich', bereich,
      'bemerkung', bemerkung, 'stadium_id', stadium_id, 'aktivitaet_id', aktivitaet_id, 'status', status, 'foto', foto,
      'foto_2', foto_2, 'foto_3', foto_3, 'biotopfoto', biotopfoto, 'audio', audio)) f
    where f.key = any (fields) or (f.key = 'srid' and 'lat' = any (fields))))
$$;
comment on function api.update_sichtbeobachtung(integer, bigint, bigint, portal.kurztexte, integer, float8, float8, integer, integer, boolean, date, portal.kurztext, portal.bemerkung, integer, integer, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext) is
  'Changes the named fields of a sighting; for instances of release 0.3.0';

-- up to 0.4.0: one version of everything. In the language that it has here: a page under way asks for it at its end, by way of the
-- language that it had at the beginning, which reads this text as its own ("syntax error").
do $do$
begin
  if exists (
    select from pg_proc p join pg_language l on l.oid = p.prolang
    where p.oid = to_regprocedure('api.get_stand()') and l.lanname = 'sql') then
    create or replace function api.get_stand()
      returns text
      language sql
      stable
    as $$
      select api.get_stand_gezeigt() || api.get_stand_protokoll()
    $$;
  else
    create or replace function api.get_stand()
      returns text
      language plpgsql
      stable
    as $$
    begin
      return api.get_stand_gezeigt() || api.get_stand_protokoll();
    end
    $$;
  end if;
end
$do$;
comment on function api.get_stand() is 'Version of everything that anonymous readers may see, and of more; for instances up to release 0.4.0';

-- up to 0.4.0: what a list calls that was under way when the functions were replaced
create or replace function private.list_sichtbeobachtung_id(
  tenant integer, reader bigint, bereich text, status portal.status, arts integer[], gids integer[], jahr integer,
  datum_von date, datum_bis date, mandant integer, bbox float8[], before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return private.list_id((
    tenant, reader, private.is_exempt(reader), bereich, status, arts, gids, jahr, datum_von, datum_bis, mandant,
    bbox[1], bbox[2], bbox[3], bbox[4],
    array(select am.art from portal.art_mandant am where am.mandant_id = list_sichtbeobachtung_id.tenant and am.sensibel),
    before_id, row_limit)::portal.listenfilter);
end
$$;

create or replace function private.render_sichtbeobachtung_of_all(id bigint[], tenant integer)
  returns text
  language plpgsql
  stable
as $$
begin
  return private.render_sichtbeobachtung_of_all(id, null, tenant);
end
$$;

-- up to 0.8.0: the same, of a list or of the feed
create or replace function private.render_sichtbeobachtung_of_all(id bigint[], tenant integer, separator text)
  returns text
  language plpgsql
  stable
as $$
begin
  return array_to_string(array(
    select private.render_sichtbeobachtung_of_all(array[o.id], null, tenant)
    from unnest(render_sichtbeobachtung_of_all.id) with ordinality o (id, position)
    order by o.position), separator);
end
$$;

-- up to 0.9.0: what the versions called
create or replace function private.get_stand_herkunft()
  returns text
  language plpgsql
  stable
as $$
begin
  return '-' || coalesce((select left(i.code_hash, 8) from portal.installation i), '') || '-' || 'portal.stand'::regclass::oid;
end
$$;

-- up to 0.9.0: a page of a list and one of the feed, in steps of a hundred
create or replace function private.render_page(id bigint[], tenant integer, reader bigint, max_bytes integer)
  returns table (result text, shown integer)
  language plpgsql
  stable
  rows 1
as $$
begin
  return query select p.* from private.render_page(id, null, tenant, reader, max_bytes) p;
end
$$;

create or replace function private.render_abgleich(ids bigint[], gone boolean[], tenant integer, max_bytes integer)
  returns table (result text, shown integer)
  language plpgsql
  stable
  rows 1
as $$
begin
  return query select p.* from private.render_page(ids, gone, tenant, null, max_bytes) p;
end
$$;

-- up to 0.9.0: records of an account, each with its whole change log
create or replace function api.list_auskunft_sichtbeobachtung(nutzer_id bigint, after_id bigint, row_limit integer)
  returns table (result text, zusatz text, last_id bigint)
  language plpgsql
  stable
  rows 1
as $$
begin
  return query
  select l.result, l.zusatz, l.last_id
  from api.list_auskunft_sichtbeobachtung(nutzer_id, after_id, row_limit, 2147483647) l;
end
$$;
comment on function api.list_auskunft_sichtbeobachtung(bigint, bigint, integer) is
  'Some sightings of an account, with all that is stored with them: two JSON arrays as text; for instances up to release 0.9.0';

-- up to 0.6.0: the nightly sweep, with fixed times for all but access keys
create or replace function api.sweep_nutzer(ttl_days integer)
  returns void
  language plpgsql
  volatile
as $$
begin
  perform api.sweep_konto(ttl_days, 1, 90, 14, 10000);
end
$$;
comment on function api.sweep_nutzer(integer) is
  'Removes some of the counted attempts, access keys, links and reservations that are past their time; for instances up to release 0.6.0';
