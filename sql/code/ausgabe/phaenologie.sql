-- The curve of the year (O2.8): how many records there are in each third of a month.

-- Records by third of a month and stage; thirds without one are left out. Records whose stage does not count for the curve (D3.11)
-- are not in it. Put together, so that of a species only its own records are read.
--   mandant   abbreviation in any case, by the shown place: a masked record is where the centre of its cell is
-- returns     drittel: 1 days 1 to 10, 2 to 20, 3 to the end; stadium: null without one
-- errors      MANUN (column mandant) no such tenant
create or replace function ausgabe.list_phaenologie(art integer, artengruppe_id integer, mandant text, jahr_von integer, jahr_bis integer)
  returns table (monat integer, drittel integer, stadium text, meldungen bigint)
  language plpgsql
  stable
as $$
declare
  v_boundary public.geometry;
begin
  if mandant is not null then
    select m.boundary into v_boundary from gis.mandant m where pg_catalog.lower(m.kuerzel) = pg_catalog.lower(list_phaenologie.mandant);
    if not found then
      raise exception 'no such tenant' using errcode = 'MANUN', column = 'mandant';
    end if;
  end if;
  -- By day first, of which there are few: all records are read from an index that holds no more than that.
  return query execute concat(
    'select extract(month from t.datum)::integer, least(3, (extract(day from t.datum)::integer + 9) / 10), st.name, sum(t.meldungen)::bigint
     from (
       select s.datum, s.stadium_id, count(*) as meldungen
       from gis.sichtbeobachtung_raster s where true',
    case when list_phaenologie.art is not null then ' and s.art = $1' end,
    case when artengruppe_id is not null then ' and s.art = any (array(select a.id from gis.art a where a.gid = $2))' end,
    case when v_boundary is not null then ' and public.st_intersects($3, s.place)' end,
    case when list_phaenologie.jahr_von is not null then ' and s.datum >= make_date(greatest($4, 1), 1, 1)' end,
    case when list_phaenologie.jahr_bis is not null then ' and s.datum < make_date(greatest($5 + 1, 1), 1, 1)' end,
    ' group by s.datum, s.stadium_id) t
     left join gis.stadium st on st.id = t.stadium_id
     where coalesce(st.phaenogramm, true)
     group by 1, 2, 3 order by 1, 2, 3')
  using list_phaenologie.art, artengruppe_id, v_boundary, list_phaenologie.jahr_von, list_phaenologie.jahr_bis;
end
$$;
comment on function ausgabe.list_phaenologie(integer, integer, text, integer, integer) is
  'Records by third of a month and stage: the curve of the year';
