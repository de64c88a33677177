-- What is odd about a report before it is sent (O6.3): from what everybody may know, whoever asks.

-- Reasons by which a report would be odd at the addressed tenant.
--   fields   as of api.create_sichtbeobachtung: art, lat, lon, srid, datum, anzahl, stadium_id, aktivitaet_id
-- returns    JSON array of code, text, werte, the gravest first
-- errors     ARTUN, WERTB, GBTAU, GBIET, DATUM, STDUN, AKTUN (column names the field)
create or replace function api.list_hinweis(tenant integer, fields portal.felder)
  returns jsonb
  language plpgsql
  stable
as $$
declare
  v_new portal.sichtbeobachtung;
begin
  perform private.require_feld(fields, '{art,lat,lon,srid,datum,anzahl,stadium_id,aktivitaet_id}');
  v_new := jsonb_populate_record(null::portal.sichtbeobachtung, fields);
  v_new.point := private.to_point_of_felder(fields);
  v_new.datum := coalesce(v_new.datum, (now() at time zone 'Europe/Berlin')::date);
  perform private.require_reference(tenant, v_new.art, v_new.stadium_id, v_new.aktivitaet_id);
  if v_new.datum < date '1800-01-01' or v_new.datum > (now() at time zone 'Europe/Berlin')::date then
    raise exception 'date outside 01.01.1800 to today' using errcode = 'DATUM', column = 'datum';
  end if;
  -- Something was hidden and is still counted: nothing is said until it is not.
  if exists (select from portal.pruef_zahl_offen o where o.art = v_new.art and o.offen and o.vorzeichen < 0) then
    return '[]';
  end if;
  return (
    select coalesce(jsonb_agg(jsonb_build_object('code', k.code, 'text', k.text, 'werte', k.werte) order by k.gewicht desc, k.code, k.text), '[]')
    from private.list_pruefgrund(
      v_new.art, v_new.point,
      array(
        select m.mandant_id
        from private.list_mandant_of_sichtbeobachtung(
          v_new.point, private.to_cell(public.st_x(v_new.point)), private.to_cell(public.st_y(v_new.point)), schutz => 0::smallint) m),
      v_new.datum, coalesce(v_new.anzahl, 1), v_new.stadium_id, v_new.aktivitaet_id, nur_offene => true) k);
end
$$;
comment on function api.list_hinweis(integer, portal.felder) is
  'What would be odd about a report, as a JSON array, from records that nobody protects';
