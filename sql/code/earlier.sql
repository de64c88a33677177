-- For what an earlier release left in the queue, and what instances of the last one, 0.33, still call while they are being replaced. It hands on
-- to what is there now and knows nothing itself.

-- Questions had mails of their own up to 0.32. They are part of the mails of decisions now (O6.23): this one says nothing, and the next mail asks.
create or replace function api.get_frage_mail(nutzer_id bigint, sichtbeobachtung_id bigint)
  returns table (datum text, art text, frage text)
  language sql
  volatile
  rows 1
as $$
  select private.set_mitteilung_offen(s, 'sofort')
  from portal.sichtbeobachtung s
  where s.id = get_frage_mail.sichtbeobachtung_id and s.nutzer_id = get_frage_mail.nutzer_id and private.get_frage(s) is not null;
  select null::text, null::text, null::text where false
$$;
comment on function api.get_frage_mail(bigint, bigint) is
  'Hands a question that release 0.32 put into the queue on to the next mail; no row';

-- One by one, of what is a text now: the export of release 0.33 counts them.
create or replace function ausgabe.render_sichtbeobachtung(id bigint[], srid integer, north_first boolean)
  returns table (nummer bigint, lage text, feature text)
  language sql
  stable
as $$
  select null::bigint, null::text, f.value::text
  from pg_catalog.json_array_elements(
    pg_catalog.concat('[', ausgabe.render_sichtbeobachtung_of_id(render_sichtbeobachtung.id, srid, north_first), ']')::json) f
$$;
comment on function ausgabe.render_sichtbeobachtung(bigint[], integer, boolean) is 'Sightings as GeoJSON features, for instances of release 0.33';
