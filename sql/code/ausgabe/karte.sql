-- What the map asks for beside its tiles (O4.1): species by name, records by number.

-- Species whose names hold a text: those that begin with it first.
--   suche      in any case; null for none
--   art        a species by its number; null for any
create or replace function ausgabe.list_art(suche text, art integer, row_limit integer)
  returns table (id integer, name_deutsch text, name_wissenschaftlich text, artengruppe text)
  language plpgsql
  stable
as $$
declare
  v_suche text := pg_catalog.lower(suche);
begin
  return query
  select a.id, a.name_deutsch, a.name_wissenschaftlich, a.artengruppe
  from gis.art a
  where (list_art.art is null or a.id = list_art.art)
    and (v_suche is null or strpos(lower(a.name_deutsch), v_suche) > 0 or strpos(lower(a.name_wissenschaftlich), v_suche) > 0)
  order by
    case when starts_with(lower(a.name_deutsch), v_suche) or starts_with(lower(a.name_wissenschaftlich), v_suche) then 0 else 1 end,
    coalesce(a.name_deutsch, a.name_wissenschaftlich), a.id
  limit row_limit;
end
$$;
comment on function ausgabe.list_art(text, integer, integer) is 'Species whose German or scientific name holds a text, or the one of a number';

-- Records as everybody may see them, by number.
create or replace function ausgabe.list_sichtbeobachtung_of_id(ids bigint[])
  returns table (
    id bigint, art integer, name_deutsch text, name_wissenschaftlich text, datum date, anzahl integer, stadium text, aktivitaet text,
    bemerkung text, unschaerfe_m integer)
  language plpgsql
  stable
as $$
begin
  return query
  select s.id, s.art, s.name_deutsch, s.name_wissenschaftlich, s.datum, s.anzahl, s.stadium, s.aktivitaet, s.bemerkung, s.unschaerfe_m
  from pg_catalog.unnest(list_sichtbeobachtung_of_id.ids) u (id)
  join gis.sichtbeobachtung s on s.id = u.id
  order by s.id desc;
end
$$;
comment on function ausgabe.list_sichtbeobachtung_of_id(bigint[]) is 'Records of these numbers, as everybody may see them';
