-- Functions that make the benchmark's sightings. Everything is a function of a row's number: the same size gives the same
-- rows on every machine. The derived columns come from the service's own functions, computed for many rows at once.
create schema bench;

-- A number in [0, 1) that depends on nothing but its arguments.
create function bench.unit(i bigint, seed integer)
  returns float8
  language sql
  immutable
  parallel safe
as $$
  select (hashint8extended(i, seed) & 4503599627370495)::float8 / 4503599627370496
$$;

-- A rank from 1 to n; rank r is drawn with a frequency of about 1 / r.
create function bench.rank(u float8, n integer)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select least(n, floor(exp(u * ln(n + 1.0)))::integer)
$$;

-- Two independent normal deviates times sigma, added to a place (Box and Muller).
create function bench.scatter(x float8, y float8, sigma float8, u float8, v float8)
  returns public.geometry
  language sql
  immutable
  parallel safe
as $$
  select st_setsrid(st_makepoint(
    round((x + sigma * sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v))::numeric, 2)::float8,
    round((y + sigma * sqrt(-2 * ln(1 - u)) * sin(2 * pi() * v))::numeric, 2)::float8), 25832)
$$;

create function bench.remarks()
  returns text
  language sql
  immutable
  parallel safe
as $$
  select repeat(
    'Am Waldrand bei tief stehender Sonne, zunächst verdeckt, dann frei auf einem Ast. Mehrere Tiere, genaue Zahl unsicher; '
    || E'ein Männchen „warnt“ deutlich.\nFundort: Böschung südlich der Straße, über dem Bachlauf. Foto aus großer Entfernung, '
    || 'Bestimmung nach Flügelzeichnung und Ruf. Wind schwach, 14 °C, leicht bewölkt; Wiese frisch gemäht, Gräser "hüfthoch". '
    || 'Totfund am Weg, vermutlich Straßenopfer. Später von Käthe Ü. bestätigt. Blüten zahlreich, Früchte noch grün. '
    || E'Belegexemplar nicht entnommen.\r\nVergleiche Meldung vom Vorjahr: gleicher Brutplatz, drei Jungvögel. ', 3)
$$;

-- Made-up species beside those of the demo catalogue, up to `total`; how the tenants define them, and whom they protect:
-- of the rarer species 15 in 1 000 everywhere, as many in about four tenants, and as many in Rheinland-Pfalz alone.
create function bench.create_catalogue(total integer)
  returns void
  language plpgsql
as $$
begin
  create table bench.gruppe as
  select row_number() over (order by g.id) as position, g.id from portal.artengruppe g;

  insert into portal.art (id, eu_guid, gid, name_wissenschaftlich, name_deutsch)
  select 100000 + n, public.uuid_generate_v5(public.uuid_ns_oid(), 'bench ' || n)::text, g.id,
    initcap(w.genus) || ' ' || w.epithet || ' ' || n,
    (array['Großer', 'Kleiner', 'Gemeiner', 'Südlicher', 'Grünlicher', 'Später'])[1 + (n % 6)] || ' '
      || (array['Waldläufer', 'Wiesenkäfer', 'Moorbläuling', 'Heidefalter', 'Zwergstrauch', 'Uferfroschlöffel', 'Krautsänger'])[1 + (n % 7)]
      || ' ' || n
  from generate_series(1, total - (select count(*)::integer from portal.art)) n
  join bench.gruppe g on g.position = 1 + floor(bench.unit(n, 101) * (select count(*) from bench.gruppe)),
    lateral (
      select (array['carabus', 'luscinia', 'phengaris', 'melitaea', 'salix', 'alisma', 'sylvia', 'bombus'])[1 + (n % 8)] as genus,
        (array['silvestris', 'minor', 'vulgaris', 'meridionalis', 'viridis'])[1 + (n % 5)] as epithet) w;

  create table bench.rang (rang integer primary key, art integer not null, gid integer not null);
  -- What somebody protects is not among the hundred most frequent.
  insert into bench.rang
  select row_number() over (order by case when p.protected then 0.02 + 0.98 * p.u else p.u end, p.id), p.id, p.gid
  from (
    select a.id, a.gid, bench.unit(a.id, 102) as u,
      exists (select from portal.art_mandant am where am.art = a.id and am.sensibel) as protected
    from portal.art a
  ) p;

  insert into portal.art_mandant (mandant_id, art, art_id, name_deutsch, sensibel, legacy_regional_art_id)
  select m.id, r.art, m.kuerzel || '-B' || r.art, case when bench.unit(r.art, 103) < 0.1 then m.kuerzel || '-Name ' || r.art end,
    d.everywhere or (d.somewhere and bench.unit(r.art, 105 + m.id) < 0.25) or (d.here and m.kuerzel = 'RP'), r.art
  from bench.rang r
  cross join portal.mandant m
  cross join lateral (
    select r.rang > 100 and u.u < 0.015 as everywhere,
      r.rang > 100 and u.u between 0.015 and 0.030 as somewhere,
      r.rang > 100 and u.u between 0.030 and 0.045 as here
    from (select bench.unit(r.art, 104)) u (u)
  ) d
  where r.art > 100000 and (d.everywhere or d.somewhere or d.here or bench.unit(r.art, 205 + m.id) < 0.85);
end
$$;

-- Recorders 1 to 1980, experts 1981 to 1999, an administrator; and 600 hot spots inside the tenants.
create function bench.create_people_and_places()
  returns void
  language plpgsql
as $$
begin
  insert into portal.nutzer (id, loginname, email, vorname, nachname, anonymisiert)
  overriding system value
  select n, 'bench-' || n, 'bench-' || n || '@example.org',
    (array['Jürgen', 'Käthe', 'Hans', 'Änne', 'Mehmet', 'Zoë', 'Ulrich', 'Maria'])[1 + (n % 8)],
    (array['Großmann', 'Müller', 'Sommerfeld', 'Weiß', 'Özdemir', 'Schröder', 'Lange'])[1 + (n % 7)],
    (bench.unit(n, 110) < 0.3)::integer
  from generate_series(1, 2000) n
  order by n;
  perform setval(pg_get_serial_sequence('portal.nutzer', 'id'), 2000);
  insert into portal.nutzer_rolle (nutzer_id, rolle)
  select n, (case n when 2000 then 'administrator' else 'expert' end)::portal.rolle from generate_series(1981, 2000) n;
  -- The benchmark's access keys are the login names: a private database knows no secrets.
  insert into portal.token (hash, nutzer_id)
  select sha256(convert_to(u.loginname, 'UTF8')), u.id from portal.nutzer u;
  update portal.token set genutzt = now();

  create table bench.ort (id integer primary key, x float8 not null, y float8 not null, sigma float8 not null);
  insert into bench.ort
  select row_number() over (order by p.n), p.x, p.y, 1500 + 10500 * bench.unit(p.n, 113)
  from (
    select n, 280000 + 645000 * bench.unit(n, 111) as x, 5235000 + 870000 * bench.unit(n, 112) as y
    from generate_series(1, 6000) n
  ) p
  where exists (
    select
    from private.list_mandant_of_sichtbeobachtung(
      st_setsrid(st_makepoint(p.x, p.y), 25832), private.to_cell(p.x), private.to_cell(p.y), schutz => 0::smallint))
  order by p.n
  limit 600;
end
$$;

-- Sightings number `von` to `bis` of `total`, with everything that the triggers would have derived.
create function bench.create_sichtbeobachtung(von bigint, bis bigint, total bigint)
  returns void
  language plpgsql
as $$
declare
  v_namespace uuid := (select guid_namespace from portal.installation);
begin
  insert into portal.sichtbeobachtung (
    id, guid, nutzer_id, art, anzahl, sensibel, datum, bereich, status, point, stadium_id, aktivitaet_id, bemerkung,
    bemerkung_experte, experte_id, foto, angelegt, gid, cell_x, cell_y, raster_point, shown_point, sensible_art, schutz,
    kopf_json)
  overriding system value
  select i, public.uuid_generate_v5(v_namespace, i::text), 1 + floor(1980 * bench.unit(i, 1) ^ 3), r.art,
    1 + floor(30 * bench.unit(i, 2) ^ 6), p.sensibel,
    d.datum,
    (case when s.u < 0.12 then 'privat' else 'oeffentlich' end)::portal.bereich, s.status, p.point,
    case when bench.unit(i, 8) < 0.5 then 1 + floor(16 * bench.unit(i, 9)) end,
    case when bench.unit(i, 10) < 0.5 then 1 + floor(16 * bench.unit(i, 11)) end,
    case when bench.unit(i, 12) < 0.6
      then substr(bench.remarks(), 1 + floor(1000 * bench.unit(i, 13))::integer, 8 + floor(450 * bench.unit(i, 14) ^ 4)::integer) end,
    case when s.status <> 'pruefung' and bench.unit(i, 15) < 0.1 then 'Beleg gesehen, Bestimmung „sicher“.' end,
    case when s.status in ('freigegeben', 'abgelehnt') then 1981 + floor(19 * bench.unit(i, 16)) end,
    case when bench.unit(i, 17) < 0.3 then md5(i::text) || '.jpg' end,
    timestamptz '2012-01-01 00:00+01' + i::float8 / total * interval '5110 days',
    r.gid, c.cell_x, c.cell_y, private.to_raster_point(c.cell_x, c.cell_y),
    case when k.schutz = 2 then private.to_raster_point(c.cell_x, c.cell_y) else p.point end, k.sensible_art, k.schutz,
    case when bench.unit(i, 7) >= 0.12 and s.status = 'freigegeben' then private.to_kopf_json(
      i, public.uuid_generate_v5(v_namespace, i::text), (1 + floor(30 * bench.unit(i, 2) ^ 6))::integer, p.point, d.datum) end
  from generate_series(von, bis) i
  join bench.rang r on r.rang = bench.rank(bench.unit(i, 20), (select count(*)::integer from bench.rang))
  cross join lateral (
    select bench.unit(i, 7) as u, (case when bench.unit(i, 7) < 0.12 then 'pruefung' when bench.unit(i, 7) < 0.82 then 'freigegeben'
      when bench.unit(i, 7) < 0.94 then 'pruefung' when bench.unit(i, 7) < 0.97 then 'hinweis' else 'abgelehnt' end)::portal.status as status
  ) s
  -- One in five lies anywhere, the others around a hot spot.
  join bench.ort o on o.id = case when bench.unit(i, 21) < 0.2 then 1 + floor(600 * bench.unit(i, 22))
    else bench.rank(bench.unit(i, 22), 600) end
  cross join lateral (
    select bench.unit(i, 3) < 0.005 as sensibel,
      bench.scatter(o.x, o.y, case when bench.unit(i, 21) < 0.2 then 60000 else o.sigma end, bench.unit(i, 23), bench.unit(i, 24)) as point
    offset 0
  ) p
  cross join lateral (select private.to_cell(st_x(p.point)) as cell_x, private.to_cell(st_y(p.point)) as cell_y offset 0) c
  -- Most are reported within days; the others are old notes that somebody enters later.
  cross join lateral (
    select date '1996-01-01' + case when bench.unit(i, 4) < 0.7
      then greatest(0, floor(10957 * (i - 1)::float8 / total) - floor(20 * bench.unit(i, 5) ^ 3))
      else floor(10957 * bench.unit(i, 6)) end::integer as datum
  ) d
  cross join lateral private.get_schutz(p.sensibel, r.art, c.cell_x, c.cell_y) k
  order by i;

  insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
  select k.mandant_id, s.id, s.gid, k.exakt, private.is_shown_to_all(s.bereich, s.status)
  from portal.sichtbeobachtung s, private.list_mandant_of_sichtbeobachtung(s.point, s.cell_x, s.cell_y, s.schutz) k
  where s.id between von and bis;

  insert into portal.protokoll (audit, sichtbeobachtung_id, zeitpunkt)
  select 'CREATE', s.id, s.angelegt from portal.sichtbeobachtung s where s.id between von and bis order by s.id;

  insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id, zeitpunkt)
  select s.id, s.nutzer_id, s.art, s.datum, s.status, s.experte_id, s.angelegt
  from portal.sichtbeobachtung s
  where s.bereich = 'oeffentlich' and s.id between von and bis
  order by s.id;
end
$$;
