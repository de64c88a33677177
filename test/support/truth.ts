// What must follow from what was written, computed anew from whole boundaries: the slow, plain way to the same answers.
import type { Sql, Transaction } from '../../src/db/client.ts';

/**
 * The records whose derived values differ from what species, point, mark, catalogue and boundaries say, one line each; none when
 * all is well. Compares cell, group, protection, shown place, tenants, and what analysts read.
 */
export async function listWrong(sql: Sql): Promise<string[]> {
  const rows = await readPlainly<{ wrong: string }>(
    sql,
    (query) => query`
    with record as (
      select s.*, floor(st_x(s.point) / 5000)::integer as cx, floor(st_y(s.point) / 5000)::integer as cy
      from portal.sichtbeobachtung s
    ),
    square as (
      select r.*, st_makeenvelope(cx * 5000, cy * 5000, cx * 5000 + 5000, cy * 5000 + 5000, 25832) as square
      from record r
    ),
    near as (
      select r.id, m.id as mandant_id, st_intersects(m.boundary, r.point) as inside,
        exists (select from portal.art_mandant am where am.mandant_id = m.id and am.art = r.art and am.sensibel) as sensitive
      from square r
      join portal.mandant m on st_intersects(m.boundary, r.square)
    ),
    truth as (
      select r.*, st_centroid(r.square) as centre, k.sensible_here, r.sensibel or k.sensible_here as hidden,
        r.sensibel or exists (select from portal.art_mandant am where am.art = r.art and am.sensibel) as hidden_somewhere,
        r.bereich = 'oeffentlich' and r.status = 'freigegeben' as public
      from square r
      join (
        select r.id, coalesce(bool_or(n.sensitive), false) as sensible_here from square r left join near n on n.id = r.id group by r.id
      ) k on k.id = r.id
    ),
    wrong as (
      select t.id, 'derived' as what
      from truth t
      where (t.gid, t.cell_x, t.cell_y, t.sensible_art, t.schutz)
          is distinct from (
            (select a.gid from portal.art a where a.id = t.art), t.cx, t.cy, t.sensible_here,
            case when t.hidden then 2 when t.hidden_somewhere then 1 else 0 end)
        or st_astext(t.raster_point) <> st_astext(t.centre)
        or st_astext(t.shown_point) <> st_astext(case when t.hidden then t.centre else t.point end)
      union all
      select t.id, 'json'
      from truth t
      where (t.kopf_json || 'null}')::jsonb is distinct from case when t.public then jsonb_build_object(
        'id', t.id, 'guid', t.guid, 'bereich', 'Öffentliche Meldungen', 'status', 'Freigegeben', 'anzahl', t.anzahl::text,
        'lat', st_y(t.point), 'lon', st_x(t.point), 'datum', to_char(t.datum, 'DD.MM.YYYY'), 'titel_deutsch', null) end
      union all
      select am.art, 'json of the species'
      from portal.art_mandant am
      join portal.art a on a.id = am.art
      where ('{"titel_deutsch":' || am.titel_json || am.art_json || 'null}')::jsonb is distinct from jsonb_build_object(
        'titel_deutsch', coalesce(am.name_deutsch, a.name_deutsch),
        'titel_wissenschaftlich', coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich),
        'art_id', am.art_id, 'legacy_regional_art_id', am.legacy_regional_art_id, 'is_animal', null)
      union all
      select coalesce(w.id, l.sichtbeobachtung_id), 'tenants'
      from (
        select t.id, n.mandant_id, n.inside, t.gid, t.public
        from truth t join near n on n.id = t.id
        where n.inside or t.hidden_somewhere
      ) w
      full join portal.mandant_sichtbeobachtung l on l.sichtbeobachtung_id = w.id and l.mandant_id = w.mandant_id
      where (w.inside, w.gid, w.public) is distinct from (l.exakt, l.gid, l.frei)
      union all
      select coalesce(t.id, g.id), 'shown'
      from (select * from truth where public) t
      full join portal.sichtbeobachtung_gezeigt g on g.id = t.id
      where (g.guid, g.art, g.anzahl, g.datum, g.jahr, g.stadium_id, g.aktivitaet_id, g.bemerkung, g.unschaerfe_m, g.cell_x, g.cell_y)
          is distinct from (
            t.guid, t.art, t.anzahl, t.datum, extract(year from t.datum)::integer, t.stadium_id, t.aktivitaet_id,
            case when not t.hidden_somewhere then t.bemerkung end, case when t.hidden_somewhere then 3536 else 0 end, t.cx, t.cy)
        or st_astext(g.place) is distinct from st_astext(case when t.hidden_somewhere then t.centre else t.point end)
      union all
      select coalesce(t.id, e.id), 'exact'
      from (select * from truth where public and hidden_somewhere) t
      full join portal.sichtbeobachtung_exakt e on e.id = t.id
      where t.id is null or e.id is null or e.bemerkung is distinct from t.bemerkung or st_astext(e.place) <> st_astext(t.point)
    )
    select id || ' ' || what as wrong from wrong order by id, what`,
  );
  return rows.map((row) => row.wrong);
}

/**
 * Record → what a reader without special rights is told of its place: under the domain of each tenant the point, and the tenants
 * it is said to lie in. A change of catalogue or boundaries is logged for exactly the records where this changes (D3.14).
 */
export async function readViews(sql: Sql): Promise<Map<number, string>> {
  const rows = await readPlainly<{ id: number; views: string }>(
    sql,
    (query) => query`
    with record as (
      select s.*, floor(st_x(s.point) / 5000) * 5000 as x, floor(st_y(s.point) / 5000) * 5000 as y from portal.sichtbeobachtung s
    ),
    square as (
      select r.*, st_makeenvelope(r.x, r.y, r.x + 5000, r.y + 5000, 25832) as square from record r
    ),
    sensitive as (
      select am.mandant_id, am.art from portal.art_mandant am where am.sensibel
    )
    select r.id, string_agg(concat_ws(' ', d.kuerzel, k.masked, st_astext(case when k.masked then st_centroid(r.square) else r.point end), (
        select string_agg(m.kuerzel, ',' order by m.kuerzel) from portal.mandant m
        where st_intersects(m.boundary, case when k.masked then r.square else r.point end))), '; ' order by d.kuerzel) as views
    from square r
    cross join portal.mandant d
    cross join lateral (
      select r.sensibel
        or exists (select from sensitive e where e.art = r.art and e.mandant_id = d.id)
        or exists (
          select from sensitive e join portal.mandant m on m.id = e.mandant_id
          where e.art = r.art and st_intersects(m.boundary, r.square)) as masked
    ) k
    group by r.id`,
  );
  return new Map(rows.map((row) => [row.id, row.views]));
}

// The estimates for these queries are so high that PostgreSQL would compile them for seconds, each time.
async function readPlainly<T extends object>(sql: Sql, read: (query: Transaction) => Promise<unknown>): Promise<T[]> {
  const rows = await sql.begin(async (tx) => {
    await tx`set local jit = off`;
    return await read(tx);
  });
  return rows as T[];
}
