// Small breakages of masking (S1.11), each of which the tests must notice. `npm run mutants` tries them one by one.
export interface Mutant {
  name: string;
  /** What follows `create or replace` where the breakage is: a function or a trigger. */
  within: string;
  /** Must be there exactly once. */
  from: string;
  to: string;
}

const derived = 'function private.sichtbeobachtung_before_write()';
const byWalk = 'function private.list_id_by_walk(';
const byWalkOfReader = 'function private.list_id_by_walk_of_reader(';
const inBox = `
        and s.shown_point && v_box
        and st_x(s.shown_point) between f.x1 and f.x2 and st_y(s.shown_point) between f.y1 and f.y2
       `;
const byPlace = 'function private.list_id_by_place(';
const ofFilters = 'function private.list_id_of_filters(';
const resolved = 'function private.to_listenfilter(';
const render = 'function private.render_sichtbeobachtung(';
const links = 'function private.set_sichtbeobachtung_mandant(';

export const mutants: Mutant[] = [
  {
    name: 'is_masked forgets what only the addressed tenant protects',
    within: 'function private.is_masked(',
    from: '(schutz = 2 or (schutz = 1 and coalesce(sensibel_here, false)))',
    to: 'schutz = 2',
  },
  {
    name: 'is_masked shows everybody what is protected everywhere',
    within: 'function private.is_masked(',
    from: 'schutz = 2 or ',
    to: '',
  },
  {
    name: 'is_masked hides from the owner too',
    within: 'function private.is_masked(',
    from: 'and nutzer_id is distinct from reader and',
    to: 'and',
  },
  {
    name: 'is_masked spares everybody who is logged in',
    within: 'function private.is_masked(',
    from: 'nutzer_id is distinct from reader',
    to: 'reader is null',
  },
  {
    name: 'is_masked takes experts and owner for one condition',
    within: 'function private.is_masked(',
    from: 'not exempt and nutzer_id is distinct from reader',
    to: '(not exempt or nutzer_id is distinct from reader)',
  },
  {
    name: 'every account is exempt',
    within: 'function private.is_exempt(',
    from: "private.has_rolle(reader, 'expert')",
    to: 'true',
  },
  {
    name: 'experts are not exempt',
    within: 'function private.is_exempt(',
    from: "private.has_rolle(reader, 'expert') or ",
    to: '',
  },
  {
    name: "the recorder's mark counts only for sensitive species",
    within: 'function private.get_schutz(',
    from: 'case when get_schutz.sensibel then 2 else 0 end',
    to: '0',
  },
  {
    name: 'tenants that share a cell with others do not protect it',
    within: 'function private.get_schutz(',
    from: 'and am.art = get_schutz.art and am.sensibel',
    to: 'and z.ganz and am.art = get_schutz.art and am.sensibel',
  },
  {
    name: 'a new species of a record does not change its protection',
    within: derived,
    from: 'private.get_schutz(new.sensibel, new.art,',
    to: 'private.get_schutz(new.sensibel, coalesce(old.art, new.art),',
  },
  {
    name: 'the place that lists search is the true one',
    within: derived,
    from: 'case when new.schutz = 2 then new.raster_point else new.point end',
    to: 'new.point',
  },
  {
    name: 'the place that lists search follows the point only, not the mark',
    within: derived,
    from: 'new.shown_point := case when new.schutz = 2 then new.raster_point else new.point end',
    to: `if tg_op = 'INSERT' or not public.st_orderingequals(new.point, old.point) then
    new.shown_point := case when new.schutz = 2 then new.raster_point else new.point end;
  end if`,
  },
  {
    name: 'the guid is made of the place',
    within: derived,
    from: 'new.id::text)',
    to: 'new.id::text || public.st_astext(new.point))',
  },
  {
    name: 'the centre of a cell is not its centre',
    within: 'function private.to_raster_point(',
    from: 'cell_x * 5000.0 + 2500',
    to: 'cell_x * 5000.0 + 2000',
  },
  {
    name: 'cells are rounded to',
    within: 'function private.to_cell(',
    from: 'floor(coordinate / 5000)',
    to: 'round(coordinate / 5000)',
  },
  {
    name: 'cells are cut off towards zero',
    within: 'function private.to_cell(',
    from: 'floor(coordinate / 5000)',
    to: 'trunc(coordinate / 5000)',
  },
  {
    name: 'a walk of anonymous readers looks at the true point of what only the addressed tenant protects',
    within: byWalk,
    from: 'when private.is_masked(',
    to: 'when false and private.is_masked(',
  },
  {
    name: 'a walk of anonymous readers takes all records for their own',
    within: byWalk,
    from: '0, null, false',
    to: 'null, null, false',
  },
  {
    name: 'a walk of logged-in readers looks at the true point',
    within: byWalkOfReader,
    from: 'then w.raster_point',
    to: 'and false then w.raster_point',
  },
  {
    name: 'a box finds the true point of what only the addressed tenant protects',
    within: byPlace,
    from: `s.status = 'freigegeben' and s.schutz = 0${inBox} and s.id`,
    to: `s.status = 'freigegeben'${inBox} and s.id`,
  },
  {
    name: 'a box with days finds the true point of what only the addressed tenant protects',
    within: byPlace,
    from: `s.status = 'freigegeben' and s.schutz = 0${inBox} and s.datum`,
    to: `s.status = 'freigegeben'${inBox} and s.datum`,
  },
  {
    name: 'a box of logged-in readers finds the true point of what only the addressed tenant protects',
    within: byPlace,
    from: "s.status <> 'freigegeben' and s.schutz = 0",
    to: "s.status <> 'freigegeben'",
  },
  {
    name: 'a box looks at the true point of what is protected',
    within: byPlace,
    from: 'then s.raster_point',
    to: 'and false then s.raster_point',
  },
  {
    name: 'a box is not widened for what is protected',
    within: byPlace,
    from: 'private.to_wide_box(v_box)',
    to: 'v_box',
  },
  {
    name: 'a box with other filters looks at the true point',
    within: ofFilters,
    from: 'case when %s then s.raster_point',
    to: 'case when %s and false then s.raster_point',
  },
  {
    name: 'a box with other filters is not widened for the index',
    within: ofFilters,
    from: 'private.to_wide_box(st_makeenvelope(($1).x1, ($1).y1, ($1).x2, ($1).y2, 25832))',
    to: 'st_makeenvelope(($1).x1, ($1).y1, ($1).x2, ($1).y2, 25832)',
  },
  {
    name: 'lists forget which species the addressed tenant protects',
    within: resolved,
    from: 'am.mandant_id = tenant and am.sensibel',
    to: 'am.mandant_id = tenant and am.sensibel and false',
  },
  {
    name: 'the tenant filter of anonymous readers knows true points only',
    within: 'function private.list_id_of_mandant(',
    from: `(f.mandant, true, f.before_id)
        and (l.exakt or`,
    to: `(f.mandant, true, f.before_id)
        and (l.exakt or false and`,
  },
  {
    name: 'the tenant filter with a group knows true points only',
    within: 'function private.list_id_of_mandant_and_gruppe(',
    from: `(f.mandant, true, f.gids[1], f.before_id)
        and (l.exakt or`,
    to: `(f.mandant, true, f.gids[1], f.before_id)
        and (l.exakt or false and`,
  },
  {
    name: 'the tenant filter with others knows true points only',
    within: ofFilters,
    from: '(t.exakt or %s)',
    to: '(t.exakt or %s and false)',
  },
  {
    name: 'the order of lists follows the place',
    within: ofFilters,
    from: 'order by s.id + 0 desc',
    to: 'order by st_x(s.point)',
  },
  {
    name: 'answers show the true point',
    within: render,
    from: 'case when d.masked then s.raster_point else s.point end',
    to: 's.point',
  },
  {
    name: 'answers for everybody show the true point',
    within: 'function private.render_sichtbeobachtung_of_all(id bigint[], gone',
    from: 'case when k.masked then private.to_kopf_json',
    to: 'case when false then private.to_kopf_json',
  },
  {
    name: 'answers for everybody say of no record that it is masked',
    within: 'function private.render_sichtbeobachtung_of_all(id bigint[], gone',
    from: 'private.is_masked(s.schutz, am.sensibel, s.nutzer_id, null, false) as masked',
    to: 'false as masked',
  },
  {
    name: 'the detail names the tenants of the true point',
    within: render,
    from: '(l.exakt or k.masked)',
    to: 'l.exakt',
  },
  {
    name: 'the detail names the tenants of the whole cell to everybody',
    within: render,
    from: '(l.exakt or k.masked)',
    to: 'true',
  },
  {
    name: 'a protected record belongs to the tenants of its point only',
    within: 'function private.list_mandant_of_sichtbeobachtung(',
    from: 'where k.exakt or schutz > 0',
    to: 'where k.exakt',
  },
  {
    name: 'the tenants of a record do not follow its protection',
    within: 'function private.sichtbeobachtung_mandant_after_write()',
    from: ' or (n.schutz > 0) <> (o.schutz > 0)',
    to: '',
  },
  {
    name: 'the tenants of a record do not follow its release',
    within: 'function private.sichtbeobachtung_mandant_after_write()',
    from: 'where k.moved or k.frei',
    to: 'where k.moved',
  },
  {
    name: 'the tenant filter with a status walks the other half',
    within: ofFilters,
    from: "h.frei = (f.status = 'freigegeben')",
    to: "h.frei = (f.status <> 'freigegeben')",
  },
  {
    name: 'a moved border tells in the change log on which side a protected record lies',
    within: links,
    from: '(p.exakt <> w.exakt and w.schutz < 2)',
    to: 'p.exakt <> w.exakt',
  },
  {
    name: 'a species that becomes sensitive leaves its old records',
    within: 'function private.art_mandant_after_write()',
    from: 'perform private.set_schutz_of_art(v_arts)',
    to: 'null',
  },
  {
    name: 'writers of sightings do not take the catalogue lock',
    within: 'function private.require_catalogue_lock(',
    from: 'lock table portal.sperre_katalog in row share mode',
    to: 'null',
  },
  {
    name: 'changes of the catalogue do not take the catalogue lock',
    within: 'function private.require_catalogue_lock(',
    from: 'lock table portal.sperre_katalog in exclusive mode',
    to: 'null',
  },
  {
    name: 'an insert does not take the catalogue lock',
    within: 'trigger _050_catalogue_lock',
    from: 'before insert or update or delete on',
    to: 'before update or delete on',
  },
  {
    name: 'a remark that is kept back shows in lists of everybody',
    within: 'function private.render_sichtbeobachtung_of_all(id bigint[], gone',
    from: 'case when v_verborgen and k.masked then null else s.bemerkung end',
    to: 's.bemerkung',
  },
  {
    name: 'a remark that is kept back shows to whoever is logged in',
    within: render,
    from: 'case when not k.verborgen then s.bemerkung end',
    to: 's.bemerkung',
  },
  {
    name: 'a biotope photo that is kept back shows in lists of everybody',
    within: 'function private.render_sichtbeobachtung_of_all(id bigint[], gone',
    from: 'case when v_verborgen and k.masked then null else s.biotopfoto end',
    to: 's.biotopfoto',
  },
  {
    name: 'a biotope photo that is kept back is there by its plain address',
    within: 'function api.get_medium(tenant integer',
    from: 'and not v_verborgen then',
    to: 'then',
  },
  {
    name: 'a biotope photo is forgotten among what may be kept back',
    within: 'function private.to_verborgen(',
    from: 'sichtbeobachtung.biotopfoto := null;',
    to: '',
  },
  {
    name: 'a page ends sooner where a hidden remark is long',
    within: 'function api.list_sichtbeobachtung(tenant integer, reader bigint, filter',
    from: 'octet_length(result) > v_max_bytes then',
    to: `exists (select from portal.sichtbeobachtung h where h.id = any (v_id) and length(h.bemerkung) > 100) then
      row_limit := greatest(1, row_limit / 2);`,
  },
  {
    name: 'the feed hands out places that a transaction may still come before',
    within: 'function private.get_abgleich_grenze(',
    from: 'pg_snapshot_xmin(',
    to: 'pg_snapshot_xmax(',
  },
  {
    name: 'places in the feed are the times at which transactions began',
    within: 'function private.get_stelle()',
    from: 'pg_catalog.pg_current_xact_id()::text::bigint + v_versatz',
    to: 'pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text::bigint - 1 + v_versatz',
  },
  {
    name: 'the feed does not tell that a record was withdrawn',
    within: 'function private.abgleich_after_write()',
    from: 'else private.is_shown_to_all(n.bereich, n.status) or private.is_shown_to_all(o.bereich, o.status) end',
    to: 'else private.is_shown_to_all(n.bereich, n.status) end',
  },
  {
    name: 'the feed of a tenant does not tell that a record left it',
    within: links,
    from: 'where p.frei and w.frei is not true',
    to: 'where false',
  },
  {
    name: 'the feed of a tenant does not tell that a record was withdrawn',
    within: 'function private.set_mandant_frei(',
    from: 'where not w.frei',
    to: 'where false',
  },
  {
    name: 'the feed tells of a move within the cell of a protected record',
    within: 'function private.is_masked_everywhere(',
    from: 'return schutz = 2 or schutz = 1 and',
    to: 'return false and',
  },
  {
    name: 'the feed takes a species for protected everywhere that one tenant protects',
    within: 'function private.is_masked_everywhere(',
    from: 'where not exists (',
    to: 'where not exists (select) and not exists (',
  },
  {
    name: 'an output knows the European square of the true place',
    within: 'function private.list_gezeigt_raster(',
    from: 'private.to_eea10(k.place)',
    to: 'private.to_eea10(k.point)',
  },
  {
    name: 'an output knows the quadrant of the true place',
    within: 'function private.list_gezeigt_raster(',
    from: 'private.to_tk(k.place)',
    to: 'private.to_tk(k.point)',
  },
  {
    name: 'an output has the true place of what is masked',
    within: 'function private.list_gezeigt_raster(',
    from: 'case when m.masked then s.raster_point else s.point end',
    to: 's.point',
  },
  {
    name: 'an output masks only what its recorder marked',
    within: 'function private.list_gezeigt_raster(',
    from: 'sensibel_here => true',
    to: 'sensibel_here => false',
  },
  {
    name: 'an output still lists the squares in which a record was before it was masked',
    within: 'view gis.raster_feld as',
    from: 'then exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = f.x * 1000 + f.y)',
    to: 'then true',
  },
  {
    name: 'an output shows a masked record as a point in the middle of its cell',
    within: 'function ausgabe.render_sichtbeobachtung(',
    from: 'ausgabe.to_geojson(ausgabe.to_cell_polygon(s.place),',
    to: 'ausgabe.to_geojson(s.place,',
  },
  {
    name: 'an output compares the middle of the cell with a box',
    within: 'function ausgabe.is_shown_in(',
    from: 'public.st_intersects(ausgabe.to_cell_polygon(place), area)',
    to: 'public.st_intersects(place, area)',
  },
  {
    name: 'an output has points in tiles for what is masked',
    within: 'function ausgabe.list_tile_place(',
    from: ' and s.unschaerfe_m = 0',
    to: '',
  },
  {
    name: 'an output has points in crowded tiles for what is masked',
    within: 'function ausgabe.list_tile_place_of_cell(',
    from: ' and g.unschaerfe_m = 0',
    to: '',
  },
  {
    name: 'an output leaves what is masked out of its counts',
    within: 'view gis.raster_zahl as',
    from: 'where not d.is_viel and g.cell_x = d.x and g.cell_y = d.y',
    to: 'where not d.is_viel and g.cell_x = d.x and g.cell_y = d.y and g.unschaerfe_m = 0',
  },
  {
    name: 'an output goes on counting what was withdrawn',
    within: 'function private.set_gezeigt(',
    from: 'union all select h.id from hidden h',
    to: '',
  },
  {
    name: 'an output goes on counting the one record that was withdrawn',
    within: 'function private.set_gezeigt_of_id(',
    from: `returning g.* into v_before;
    if found then`,
    to: `returning g.* into v_before;
    if false then`,
  },
  {
    name: 'an output takes kept counts although something changed',
    within: 'function api.set_raster_zahl(',
    from: 'delete from portal.raster_offen o using unnest(v_offen) u (id) where o.id = u.id',
    to: 'delete from portal.raster_offen',
  },
];

/**
 * The SQL files with one breakage.
 * @throws Error when the place of the breakage is not there exactly once: it would prove nothing
 */
export function breakCode(code: Map<string, string>, { name, within, from, to }: Mutant): Map<string, string> {
  const start = `create or replace ${within}`;
  const files = [...code].filter(([, text]) => text.includes(start));
  const [file, text] = files[0] ?? ['', ''];
  if (files.length !== 1 || text.split(start).length !== 2) throw new Error(`${name}: “${start}” is not there exactly once`);
  const begin = text.indexOf(start);
  const next = text.indexOf('\ncreate or replace ', begin);
  const end = next < 0 ? text.length : next;
  const parts = text.slice(begin, end).split(from);
  if (parts.length !== 2) throw new Error(`${name}: “${from}” occurs ${parts.length - 1} times in ${within}`);
  return new Map(code).set(file, text.slice(0, begin) + parts.join(to) + text.slice(end));
}
