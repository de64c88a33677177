-- What PostGraphile serves: the columns of a list as the tenant of the plain cases sees them, and for boxes the service's own
-- choice of records, so that only the way to JSON is compared.
drop schema if exists bench_graphql cascade;
create schema bench_graphql;

-- Every sighting, whoever may see it: for the ids that the service chose, the primary key is the way.
create view bench_graphql.meldung as
select s.id, s.guid, s.art as aid,
  case s.bereich when 'oeffentlich' then 'Öffentliche Meldungen' else 'Persönliche Erfassungen' end as bereich,
  private.to_status_text(s.status) as status, s.anzahl, st_y(k.place) as lat, st_x(k.place) as lon,
  to_char(s.datum, 'DD.MM.YYYY') as datum, coalesce(am.name_deutsch, a.name_deutsch) as titel_deutsch,
  coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich) as titel_wissenschaftlich,
  s.foto, s.foto_2, s.foto_3, s.biotopfoto, s.audio, s.bemerkung, coalesce(st.phaenogramm, true) as phaenogramm,
  am.art_id, am.legacy_regional_art_id, g.is_animal, k.is_rasterized,
  s.sensible_art or coalesce(am.sensibel, false) as sensible_art, s.sensibel
from portal.sichtbeobachtung s
join portal.art a on a.id = s.art
join portal.artengruppe g on g.id = s.gid
left join portal.stadium st on st.id = s.stadium_id
left join portal.art_mandant am on am.mandant_id = (select m.id from portal.mandant m where m.kuerzel = 'NI') and am.art = s.art
cross join lateral (
  select m.masked as is_rasterized, case when m.masked then s.raster_point else s.point end as place
  from (select private.is_masked(s.schutz, am.sensibel, s.nutzer_id, null, false) as masked) m
) k;
comment on view bench_graphql.meldung is E'@behavior -*\nWhat the view below is made of.';

create view bench_graphql.sichtbeobachtung as
select v.*
from portal.sichtbeobachtung s
join bench_graphql.meldung v on v.id = s.id
where s.bereich = 'oeffentlich' and s.status = 'freigegeben';
comment on view bench_graphql.sichtbeobachtung is E'@primaryKey id\n@behavior +filter +orderBy\nSightings.';

create function bench_graphql.sichtbeobachtung_in_box(x1 float8, y1 float8, x2 float8, y2 float8)
  returns setof bench_graphql.sichtbeobachtung
  language sql
  stable
as $$
  select v.*
  from unnest(private.list_id(private.to_listenfilter(
    (select m.id from portal.mandant m where m.kuerzel = 'NI'), null,
    jsonb_build_object('bereich', 'oeffentlich', 'bbox', jsonb_build_array(x1, y1, x2, y2)), null, 101))) with ordinality o (id, position)
  join bench_graphql.meldung v on v.id = o.id
  order by o.position
$$;
