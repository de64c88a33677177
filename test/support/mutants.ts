// Small breakages of masking (S1.11), each of which the tests must notice. `npm run mutants` tries them one by one.
interface Mutant {
  name: string;
  /** What follows `create or replace` where the breakage is: a function or a trigger. */
  within: string;
  /** Must be there exactly once. */
  from: string;
  to: string;
}

const inBox = `
        and s.shown_point && v_box
        and st_x(s.shown_point) between f.x1 and f.x2 and st_y(s.shown_point) between f.y1 and f.y2
       `;

/** What follows `create or replace` where the breakage is → its name → what must be there exactly once, and what takes its place. */
const breakages: Record<string, Record<string, [from: string, to: string]>> = {
  'function private.is_masked(': {
    'is_masked forgets what only the addressed tenant protects': [
      '(schutz = 2 or (schutz = 1 and coalesce(sensibel_here, false)))',
      'schutz = 2',
    ],
    'is_masked shows everybody what is protected everywhere': ['schutz = 2 or ', ''],
    'is_masked hides from the owner too': ['and nutzer_id is distinct from reader and', 'and'],
    'is_masked spares everybody who is logged in': ['nutzer_id is distinct from reader', 'reader is null'],
    'is_masked takes experts and owner for one condition': [
      'nutzer_id is distinct from reader and not exempt',
      '(nutzer_id is distinct from reader or not exempt)',
    ],
  },
  'function private.get_zustaendigkeit(': {
    'every account is in charge': ["private.has_rolle(reader, 'expert')", 'true'],
    'experts are in charge of nothing': ["private.has_rolle(reader, 'expert')", 'false'],
    'administrators are in charge of nothing': ["private.has_rolle(reader, 'administrator')", 'false'],
  },
  'function private.get_schutz(': {
    "the recorder's mark counts only for sensitive species": ['private.to_eigener_schutz(get_schutz.sensibel)', '0::smallint'],
    'tenants that share a cell with others do not protect it': [
      'and am.art = get_schutz.art and am.sensibel',
      'and z.ganz and am.art = get_schutz.art and am.sensibel',
    ],
  },
  'function private.sichtbeobachtung_before_write()': {
    'a new species of a record does not change its protection': [
      'private.get_schutz(new.sensibel, new.art,',
      'private.get_schutz(new.sensibel, coalesce(old.art, new.art),',
    ],
    'the place that lists search is the true one': [
      'private.to_shown_point(new.schutz, new.point, new.raster_point)',
      'new.point',
    ],
    'the place that lists search follows the point only, not the mark': [
      'new.shown_point := private.to_shown_point(new.schutz, new.point, new.raster_point)',
      `if tg_op = 'INSERT' or not public.st_orderingequals(new.point, old.point) then
    new.shown_point := private.to_shown_point(new.schutz, new.point, new.raster_point);
  end if`,
    ],
    'the guid is made of the place': ['new.id::text)', 'new.id::text || public.st_astext(new.point))'],
  },
  'function private.to_raster_point(': {
    'the centre of a cell is not its centre': ['cell_x * 5000.0 + 2500', 'cell_x * 5000.0 + 2000'],
  },
  'function private.to_cell(': {
    'cells are rounded to': ['floor(coordinate / 5000)', 'round(coordinate / 5000)'],
    'cells are cut off towards zero': ['floor(coordinate / 5000)', 'trunc(coordinate / 5000)'],
  },
  'function private.list_id_by_walk(': {
    'a walk of anonymous readers looks at the true point of what only the addressed tenant protects': [
      'when private.is_masked(',
      'when false and private.is_masked(',
    ],
    'a walk of anonymous readers takes all records for their own': ['0, null, false', 'null, null, false'],
  },
  'function private.list_id_by_walk_of_reader(': {
    'a walk of logged-in readers looks at the true point': ['then w.raster_point', 'and false then w.raster_point'],
  },
  'function private.list_id_by_place(': {
    'a box finds the true point of what only the addressed tenant protects': [
      `s.status = 'freigegeben' and s.schutz = 0${inBox} and s.id`,
      `s.status = 'freigegeben'${inBox} and s.id`,
    ],
    'a box with days finds the true point of what only the addressed tenant protects': [
      `s.status = 'freigegeben' and s.schutz = 0${inBox} and s.datum`,
      `s.status = 'freigegeben'${inBox} and s.datum`,
    ],
    'a box of logged-in readers finds the true point of what only the addressed tenant protects': [
      "s.status <> 'freigegeben' and s.schutz = 0",
      "s.status <> 'freigegeben'",
    ],
    'a box looks at the true point of what is protected': ['then s.raster_point', 'and false then s.raster_point'],
    'a box is not widened for what is protected': ['private.to_wide_box(v_box)', 'v_box'],
  },
  'function private.list_id_of_filters(': {
    'a box with other filters looks at the true point': [
      'case when %s then s.raster_point',
      'case when %s and false then s.raster_point',
    ],
    'a box with other filters is not widened for the index': [
      'private.to_wide_box(st_makeenvelope(($1).x1, ($1).y1, ($1).x2, ($1).y2, 25832))',
      'st_makeenvelope(($1).x1, ($1).y1, ($1).x2, ($1).y2, 25832)',
    ],
    'the tenant filter with others knows true points only': ['(t.exakt or %s)', '(t.exakt or %s and false)'],
    'the order of lists follows the place': ['order by s.id + 0 desc', 'order by st_x(s.point)'],
    'the tenant filter with a status walks the other half': [
      "h.frei = (f.status = 'freigegeben')",
      "h.frei = (f.status <> 'freigegeben')",
    ],
  },
  'function private.to_listenfilter(': {
    'lists forget which species the addressed tenant protects': [
      'am.mandant_id = tenant and am.sensibel',
      'am.mandant_id = tenant and am.sensibel and false',
    ],
  },
  'function private.list_id_of_mandant(': {
    'the tenant filter of anonymous readers knows true points only': [
      `(f.mandant, true, f.before_id)
        and (l.exakt or`,
      `(f.mandant, true, f.before_id)
        and (l.exakt or false and`,
    ],
  },
  'function private.list_id_of_mandant_and_gruppe(': {
    'the tenant filter with a group knows true points only': [
      `(f.mandant, true, f.gids[1], f.before_id)
        and (l.exakt or`,
      `(f.mandant, true, f.gids[1], f.before_id)
        and (l.exakt or false and`,
    ],
  },
  'function private.render_sichtbeobachtung(': {
    'answers show the true point': ['case when d.masked then s.raster_point else s.point end', 's.point'],
    'answers show the true point that the row keeps as text': [
      'case when k.masked or s.kopf_json is null',
      'case when s.kopf_json is null',
    ],
    'the detail names the tenants of the true point': ['(l.exakt or k.masked)', 'l.exakt'],
    'the detail names the tenants of the whole cell to everybody': ['(l.exakt or k.masked)', 'true'],
    'a remark that is kept back shows to whoever is logged in': ['case when not k.verborgen then s.bemerkung end', 's.bemerkung'],
  },
  'function private.render_sichtbeobachtung_of_all(id bigint[], gone': {
    'answers for everybody show the true point': [
      'case when k.masked then private.to_kopf_json',
      'case when false then private.to_kopf_json',
    ],
    'answers for everybody say of no record that it is masked': [
      'private.is_masked(s.schutz, am.sensibel, s.nutzer_id, null, false) as masked',
      'false as masked',
    ],
    'a remark that is kept back shows in lists of everybody': [
      'case when v_verborgen and k.masked then null else s.bemerkung end',
      's.bemerkung',
    ],
    'a biotope photo that is kept back shows in lists of everybody': [
      'case when v_verborgen and k.masked then null else s.biotopfoto end',
      's.biotopfoto',
    ],
  },
  'function private.list_mandant_of_sichtbeobachtung(': {
    'a protected record belongs to the tenants of its point only': ['where k.exakt or schutz > 0', 'where k.exakt'],
  },
  'function private.sichtbeobachtung_mandant_after_write()': {
    'the tenants of a record do not follow its protection': [' or (n.schutz > 0) <> (o.schutz > 0)', ''],
    'the tenants of a record do not follow its release': ['where k.moved or k.frei', 'where k.moved'],
  },
  'function private.set_sichtbeobachtung_mandant(': {
    'a moved border tells in the change log on which side a protected record lies': [
      '(p.exakt <> w.exakt and w.schutz < 2)',
      'p.exakt <> w.exakt',
    ],
    'the feed of a tenant does not tell that a record left it': ['where p.frei and w.frei is not true', 'where false'],
  },
  'function private.art_mandant_after_write()': {
    'a species that becomes sensitive leaves its old records': ['perform private.set_schutz_of_art(v_arts)', 'null'],
  },
  'function private.require_catalogue_lock(': {
    'writers of sightings do not take the catalogue lock': ['lock table portal.sperre_katalog in row share mode', 'null'],
    'changes of the catalogue do not take the catalogue lock': ['lock table portal.sperre_katalog in exclusive mode', 'null'],
  },
  'trigger _050_catalogue_lock': {
    'an insert does not take the catalogue lock': ['before insert or update or delete on', 'before update or delete on'],
  },
  'function api.get_medium(tenant integer': {
    'a biotope photo that is kept back is there by its plain address': ['and not v_verborgen then', 'then'],
  },
  'function private.to_verborgen(': {
    'a biotope photo is forgotten among what may be kept back': ['sichtbeobachtung.biotopfoto := null;', ''],
  },
  'function api.list_sichtbeobachtung(tenant integer, reader bigint, filter': {
    'a page ends sooner where a hidden remark is long': [
      'octet_length(result) > v_max_bytes then',
      `exists (select from portal.sichtbeobachtung h where h.id = any (v_id) and length(h.bemerkung) > 100) then
      row_limit := greatest(1, row_limit / 2);`,
    ],
  },
  'function private.get_abgleich_grenze(': {
    'the feed hands out places that a transaction may still come before': ['pg_snapshot_xmin(', 'pg_snapshot_xmax('],
  },
  'function private.get_stelle()': {
    'places in the feed are the times at which transactions began': [
      'pg_catalog.pg_current_xact_id()::text::bigint + v_versatz',
      'pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text::bigint - 1 + v_versatz',
    ],
  },
  'function private.abgleich_after_write()': {
    'the feed does not tell that a record was withdrawn': [
      'else private.is_shown_to_all(n.bereich, n.status) or private.is_shown_to_all(o.bereich, o.status) end',
      'else private.is_shown_to_all(n.bereich, n.status) end',
    ],
  },
  'function private.set_mandant_frei(': {
    'the feed of a tenant does not tell that a record was withdrawn': ['where not w.frei', 'where false'],
  },
  'function private.is_masked_everywhere(': {
    'the feed tells of a move within the cell of a protected record': ['return schutz = 2 or schutz = 1 and', 'return false and'],
    'the feed takes a species for protected everywhere that one tenant protects': [
      'where not exists (',
      'where not exists (select) and not exists (',
    ],
  },
  'function private.list_gezeigt_raster(': {
    'an output knows the European square of the true place': ['private.to_eea10(k.place)', 'private.to_eea10(k.point)'],
    'an output knows the quadrant of the true place': ['private.to_tk(k.place)', 'private.to_tk(k.point)'],
    'an output has the true place of what is masked': ['case when m.masked then s.raster_point else s.point end', 's.point'],
    'an output masks only what its recorder marked': ['sensibel_here => true', 'sensibel_here => false'],
  },
  'view gis.raster_feld as': {
    'an output still lists the squares in which a record was before it was masked': [
      'then exists (select from portal.sichtbeobachtung_gezeigt g where g.eea10 = f.x * 1000 + f.y)',
      'then true',
    ],
  },
  'function ausgabe.render_sichtbeobachtung_zeile(': {
    'an output shows a masked record as a point in the middle of its cell': [
      'ausgabe.to_cell_polygon(s.place), render',
      's.place, render',
    ],
  },
  'function ausgabe.is_shown_in(': {
    'an output compares the middle of the cell with a box': [
      'public.st_intersects(ausgabe.to_cell_polygon(place), area)',
      'public.st_intersects(place, area)',
    ],
  },
  'function ausgabe.list_tile_place(': {
    'an output has points in tiles for what is masked': [' and s.unschaerfe_m = 0', ''],
  },
  'function ausgabe.list_tile_place_of_cell(': {
    'an output has points in crowded tiles for what is masked': [' and g.unschaerfe_m = 0', ''],
  },
  'view gis.raster_zahl as': {
    'an output leaves what is masked out of its counts': [
      'where not d.is_viel and g.cell_x = d.x and g.cell_y = d.y',
      'where not d.is_viel and g.cell_x = d.x and g.cell_y = d.y and g.unschaerfe_m = 0',
    ],
  },
  'view gis.raster_grob as': {
    'an output shows kept squares in tiles although something changed': [
      'where (k.stufe, k.x, k.y) not in (select o.stufe, o.x, o.y from offen o)',
      '',
    ],
  },
  'view gis.raster_feature as': {
    'an output shows kept squares in pages although something changed': ['where f.x is not null', 'where false'],
  },
  'function ausgabe.list_raster_karte(': {
    'an output forgets squares of tiles in which something changed': [
      'where exists (select from feld f where f.meldungen is null)',
      'where false',
    ],
  },
  'function private.put_raster_grob(': {
    'an output has squares of tiles in which there is nothing any more': [
      'and (f.x, f.y) not in (select z.x, z.y from zahl z)',
      'and false',
    ],
  },
  'function private.set_gezeigt(': {
    'an output goes on counting what was withdrawn': ['union all select h.id from hidden h', ''],
  },
  'function private.set_gezeigt_of_id(': {
    'an output goes on counting the one record that was withdrawn': [
      `returning g.* into v_before;
    if found then`,
      `returning g.* into v_before;
    if false then`,
    ],
  },
  'function api.set_raster_zahl(': {
    'an output takes kept counts although something changed': [
      'delete from portal.raster_offen o using unnest(v_offen) u (id) where o.id = u.id',
      'delete from portal.raster_offen',
    ],
  },
  'function private.to_zahl(': {
    'reasons: hints know what is protected': ['case when nur_offene then offene else meldungen end', 'meldungen'],
    'reasons: a record counts itself': [' - selbst::integer', ''],
  },
  'function private.list_pruefgrund(': {
    'reasons: nobody is farther than what lies around the corner': [
      'exit when v_abstand <= 1000.0 * v_umkreis',
      'exit when v_abstand > 0',
    ],
    'reasons: the year ends with December': [
      '(v_drittel + 35) % 36, v_drittel, (v_drittel + 1) % 36',
      'v_drittel - 1, v_drittel, v_drittel + 1',
    ],
    'reasons: 19 records are enough': ['if v_meldungen < v_least then', 'if v_meldungen < 19 then'],
    'reasons: a rule of the season is one reason more': ['v_zeit := true;', ''],
    'reasons: a hint tells the region of a sensitive species': ['not (nur_offene and exists', 'not (false and exists'],
    'reasons: cells beside do not count': ['array[v_cell_x - 1, v_cell_x, v_cell_x + 1]', 'array[v_cell_x]'],
    'reasons: stages are judged where few records have one': ['and v_least <= (', 'and 1 <= ('],
  },
  'function private.list_pruefregel(': {
    'reasons: rules for all go on beside those of a tenant': ['where m.art = list_pruefregel.art and', 'where false and'],
  },
  'function private.pruef_zahl_after_write(': {
    'reasons: what was withdrawn is compared with': ['-1 from old_row o;', '-1 from old_row o where false;'],
    'reasons: what is hidden goes on counting as open': ['o.aktivitaet_id, o.unschaerfe_m)', 'o.aktivitaet_id, n.unschaerfe_m)'],
  },
  'function api.set_pruef_zahl_aller(': {
    'reasons: counted anew, what changes meanwhile counts twice': [
      'delete from portal.pruef_zahl_offen',
      'delete from portal.pruef_zahl_offen where false',
    ],
  },
  'function private.set_pruefgrund(': {
    'reasons: they stay when nothing waits any more': [
      'and not exists (\n      select from portal.sichtbeobachtung s',
      'and false and not exists (\n      select from portal.sichtbeobachtung s',
    ],
  },
  'function api.list_hinweis(': {
    'reasons: a hint is compared with all records': ['nur_offene => true', 'nur_offene => false'],
    'reasons: a hint knows what was hidden just now': ['o.offen and o.vorzeichen < 0', 'false'],
  },
};

/** The same of files to publish. */
const fileBreakages: typeof breakages = {
  'function ausgabe.get_zelle_umriss(': {
    'the radius ends a little before the farthest corner': ['ceil(max(', 'floor(max('],
    'the radius ends at the nearest point of the outline': ['ceil(max(', 'ceil(min('],
    'the radius is half of the diagonal in the plane': [
      '(select ceil(max(public.st_distance(k.mitte::public.geography, p.geom::public.geography)))::integer from public.st_dumppoints(k.umriss) p)',
      '3536',
    ],
    'the outline is no larger than the cell': ['public.st_expand(z.cell, 1)', 'z.cell'],
    'the outline has corners only': ['public.st_segmentize(public.st_expand(z.cell, 1), 1000)', 'public.st_expand(z.cell, 1)'],
  },
  'function ausgabe.list_export(': {
    'a masked record has no uncertainty': ['case when s.unschaerfe_m > 0 then z.unschaerfe_m end', 'null::integer'],
    'a masked record has the uncertainty of the table': [
      'case when s.unschaerfe_m > 0 then z.unschaerfe_m end',
      'nullif(s.unschaerfe_m, 0)',
    ],
    'an exact record has the uncertainty 0': ['then z.unschaerfe_m end', 'then z.unschaerfe_m else 0 end'],
    'a masked record has no outline': ['case when s.unschaerfe_m > 0 then z.umriss end', 'null::text'],
    'an outline does not say how it is measured': ["case when s.unschaerfe_m > 0 then 'EPSG:4326' end", 'null::text'],
    'a cell that crosses a border has the country': ["case when s.unschaerfe_m = 0 or z.ganz then 'DE' end", "'DE'"],
    'a cell that crosses a border has the state': ['case when s.unschaerfe_m = 0 or z.ganz then z.name end', 'z.name'],
    'nothing says that a place is generalized': [
      `case when s.unschaerfe_m > 0 then
      'Ort auf`,
      `case when false then
      'Ort auf`,
    ],
    'nothing says that something is withheld': [
      `case when s.unschaerfe_m > 0 then
      concat(`,
      `case when false then
      concat(`,
    ],
    'a masked record stands in the files of every tenant that its cell touches': [
      'where z.ganz',
      'where s.unschaerfe_m > 0 or z.ganz',
    ],
  },
  'function ausgabe.list_export_wuerfel(': {
    'a square of masked records has no uncertainty': [
      'case when bool_and(e.unschaerfe_m > 0) then min(e."coordinateUncertaintyInMeters") end',
      'null::integer',
    ],
    'a square of masked records has the uncertainty of the table': [
      'min(e."coordinateUncertaintyInMeters") end',
      'min(e.unschaerfe_m) end',
    ],
    'a square tells how exact its masked records are where another is exact': [
      'case when bool_and(e.unschaerfe_m > 0) then min(e."coordinateUncertaintyInMeters") end',
      'min(e."coordinateUncertaintyInMeters")',
    ],
  },
  'function ausgabe.list_export_medium(': {
    'a photo stands with another record of its cell': [
      'f.sichtbeobachtung_id = e.id',
      'f.sichtbeobachtung_id in (select s.id from gis.sichtbeobachtung s where (s.cell_x, s.cell_y) = (e.cell_x, e.cell_y))',
    ],
  },
  'view gis.medium as': {
    'have photos of all that is not hidden': [
      'from portal.medium_gezeigt m',
      `from (
        select s.id as sichtbeobachtung_id, 1 as nummer, s.foto as name, coalesce(s.medien_lizenz, 'CC-BY-4.0') as lizenz, null as urheber
        from portal.sichtbeobachtung s where s.foto is not null) m`,
    ],
  },
  'function private.list_medium_gezeigt(': {
    'have photos of masked records': [' and g.unschaerfe_m = 0', ''],
    'have photos whose rights are all reserved': [
      "nullif(coalesce(s.medien_lizenz, u.medien_lizenz), '')",
      "coalesce(nullif(coalesce(s.medien_lizenz, u.medien_lizenz), ''), 'CC-BY-4.0')",
    ],
    'what a report says of its photos does not count': [
      'coalesce(s.medien_lizenz, u.medien_lizenz)',
      'coalesce(u.medien_lizenz, s.medien_lizenz)',
    ],
  },
  'function private.to_urheber(': {
    'name an author who does not want to be named': ['case when nutzer.anonymisiert = 0 then', 'case when true then'],
  },
  'function private.list_gezeigt_raster(': {
    'have the true place of a masked record': ['case when m.masked then s.raster_point else s.point end', 's.point'],
    'count a masked record in the square of its true place': ['private.to_eea10(k.place)', 'private.to_eea10(k.point)'],
  },
  'function private.gezeigt_after_write(': {
    'stay when what was shown is taken back': [
      `or private.is_shown_to_all(o.bereich, o.status)));
    perform`,
      `));
    perform`,
    ],
    'stay when what was shown is deleted': [
      'perform private.set_gezeigt(array(select o.id from old_row o where private.is_shown_to_all(o.bereich, o.status)));',
      '',
    ],
    'stay when a record loses its only photo': ['n.audio, o.foto, o.foto_2, o.foto_3, o.biotopfoto, o.audio)', 'n.audio)'],
  },
  'function private.set_gezeigt(': {
    'have the remark of a masked record of many': ['case when not k.masked then k.bemerkung end', 'k.bemerkung'],
    'stay when many records change or go': ['perform private.set_export_ungueltig_of_zelle(v_cell_x, v_cell_y);', 'null;'],
    'stay when many records go': ['union all select h.id from hidden h', ''],
    'stay when many records change': [
      'select w.id from written w union all select h.id from hidden h',
      'select h.id from hidden h',
    ],
  },
  'function private.set_gezeigt_of_id(': {
    'have the remark of a masked record': ['v_shown.bemerkung := null;', ''],
    'stay when a record goes': [
      `v_before.tk);
      perform private.set_export_ungueltig_of_zelle(array[v_before.cell_x], array[v_before.cell_y]);
    end if;
    return;`,
      `v_before.tk);
    end if;
    return;`,
    ],
    'stay when a record changes': [
      `where g.id = v_shown.id;
    perform private.set_export_ungueltig_of_zelle(array[v_before.cell_x], array[v_before.cell_y]);`,
      'where g.id = v_shown.id;',
    ],
  },
  'function private.set_export_ungueltig(': {
    'stay whatever changes': ['and m.lizenz is not null', 'and false'],
  },
  'function private.set_export_ungueltig_of_zelle(': {
    'stay when something changes in a cell that several tenants share': ['z.cell_y = u.y', 'z.cell_y = u.y and z.ganz'],
  },
  'function private.set_medium_gezeigt(': {
    'stay when a photo is not passed on any more': ['if v_changed is not null then', 'if false then'],
  },
  'function private.nutzer_after_update_medium(': {
    'stay when an account takes back its licence': ['where s.nutzer_id = new.id and', 'where false and'],
  },
  'trigger _300_medium after update on portal.nutzer': {
    'stay when an account has another name': [
      `(old.medien_lizenz, old.vorname, old.nachname, old.anonymisiert)
    is distinct from (new.medien_lizenz, new.vorname, new.nachname, new.anonymisiert)`,
      '(old.medien_lizenz, old.anonymisiert) is distinct from (new.medien_lizenz, new.anonymisiert)',
    ],
  },
  'function private.mandant_after_update(': {
    'stay when a boundary moves': [
      `where n.id = any (v_moved)
      or (n.name,`,
      'where (n.name,',
    ],
    'stay when a tenant has another licence': ['n.lizenz, n.herausgeber', 'o.lizenz, n.herausgeber'],
  },
  'function api.list_export(': {
    'are served although they are wrong': [
      ' and not exists (select from portal.export_ungueltig u where u.mandant_id = m.id)',
      '',
    ],
  },
};

/** The same of who is in charge of what (D4.8), and of decisions. */
const deskBreakages: typeof breakages = {
  'function private.get_zustaendigkeit(': {
    'a restriction to tenants is forgotten': [
      "nullif(array(select m.mandant_id from portal.nutzer_mandant m where m.nutzer_id = reader), '{}')",
      'null',
    ],
    'a restriction to groups is forgotten': [
      "nullif(array(select a.gid from portal.nutzer_artengruppe a where a.nutzer_id = reader), '{}')",
      'null',
    ],
    'groups always limit true places': ['entscheiden or (select i.orte_nach_gruppe from portal.installation i)', 'true'],
    'groups never limit true places': ['entscheiden or (select i.orte_nach_gruppe from portal.installation i)', 'entscheiden'],
    'groups do not limit decisions': ['entscheiden or (', '('],
  },
  'function private.is_zustaendig(': {
    'whoever is no expert is in charge where nothing restricts': ['z.gilt and', 'true and'],
    'any group will do': ['(z.gids is null or gid = any (z.gids))', 'true'],
    'any tenant will do': ['(z.mandanten is null or private.is_in_mandant(id, z.mandanten))', 'true'],
    'no restriction to tenants means none of them': ['z.mandanten is null or ', ''],
    'no restriction to groups means none of them': ['z.gids is null or ', ''],
  },
  'function private.is_in_mandant(': {
    'a record belongs to every tenant': ['l.mandant_id = any (is_in_mandant.mandanten)', 'true'],
    'a record near a border belongs to the tenant of its true place only': [
      'l.mandant_id = any (is_in_mandant.mandanten)',
      'l.mandant_id = any (is_in_mandant.mandanten) and l.exakt',
    ],
  },
  'function private.get_recht(': {
    'whoever is not in charge decides': [
      'and private.is_zustaendig(private.get_zustaendigkeit(reader, entscheiden => true), sichtbeobachtung.id, sichtbeobachtung.gid)',
      '',
    ],
    'decisions do not mind groups': ['entscheiden => true', 'entscheiden => false'],
  },
  'function api.list_qs(': {
    'the QS log has entries of records of others': ['num_nonnulls(v_zustaendig.mandanten, v_zustaendig.gids) = 0', 'true'],
  },
  'function private.render_sichtbeobachtung(': {
    'every expert sees full names': [
      'u.anonymisiert = 1 and not private.is_zustaendig(v_zustaendig, s.id, s.gid)',
      'u.anonymisiert = 1 and not v_zustaendig.gilt',
    ],
    'every expert is shown true places': [
      's.schutz, am.sensibel, s.nutzer_id, reader, private.is_zustaendig(v_zustaendig, s.id, s.gid))',
      's.schutz, am.sensibel, s.nutzer_id, reader, v_zustaendig.gilt)',
    ],
  },
  'function private.list_id_by_walk_of_reader(': {
    'every expert finds true places by a walk': ['private.is_zustaendig(f.zustaendig, w.id, w.gid)', '(f.zustaendig).gilt'],
  },
  'function private.list_id_by_place(': {
    'every expert finds true places by a box': ['private.is_zustaendig(f.zustaendig, s.id, s.gid)', '(f.zustaendig).gilt'],
  },
  'function private.list_id_of_filters(': {
    'every expert finds true places by filters': [
      'private.is_zustaendig(($1).zustaendig, s.id, s.gid)',
      '(($1).zustaendig).gilt',
    ],
  },
  'function private.is_automatisch(': {
    'protected records are released by rules': ['and s.schutz = 0', ''],
    'records of novices are released by rules': ['private.get_erfahrung(s.nutzer_id, s.gid) = 20', 'true'],
    'a rule of one person releases what needs two': ['and not r.zwei_personen', ''],
    'what was taken back is released again': ['and q.lauf is not null', 'and false'],
    'species without a rule are released': ['r.automatisch and', ''],
  },
  'function api.undo_pruef_lauf(': {
    'what somebody decided since is taken back': ['and s.experte_id is null', ''],
  },
  'function api.set_entscheidung(': {
    'what changed meanwhile is decided': ['v_stand is distinct from stand', 'false'],
    'the same key decides again': ['    return v_known.code;', '    null;'],
    'private records are told of': ["v_code := 'nicht_gefunden'", "v_code := 'nicht_erlaubt'"],
    'a key is that of any account': ['e.nutzer_id = reader and', ''],
  },
};

/** The same of what recorders are told by mail (O6.21 to O6.27), and of what nobody may lose by the way. */
const mailBreakages: typeof breakages = {
  'function private.create_frage(': {
    'the same is asked twice': [
      'where create_frage.text is distinct from (',
      'where true or create_frage.text is distinct from (',
    ],
    'a question waits for the morning': ["(s, 'sofort')", '(s, private.get_haeufigkeit(s.nutzer_id))'],
  },
  'function private.get_frage(': {
    'an answer is a question': [' and l.nutzer_id is distinct from sichtbeobachtung.nutzer_id', ''],
    'what is decided is still asked': ['private.is_frage_offen(sichtbeobachtung) and', ''],
  },
  'function private.to_mail_art(': {
    'protected records are named': ['and sichtbeobachtung.schutz = 0', ''],
    'records that other tenants protect are named': ['sichtbeobachtung.schutz = 0', 'sichtbeobachtung.schutz < 2'],
  },
  'function private.set_mitteilung_offen(': {
    'what is decided while a mail is sent is not told': ['faellig = excluded.faellig, mail = null', 'faellig = excluded.faellig'],
  },
  'function api.set_haeufigkeit(': {
    'another rhythm holds questions back': [
      "case when private.get_frage(s) is null then haeufigkeit else 'sofort' end",
      'haeufigkeit',
    ],
  },
  'function api.set_mitteilung_mail(': {
    'questions are counted instead of asked': [' offset 50', ' offset 1000'],
    'whom wants no mails gets them': ['if not private.is_erreichbar(nutzer_id) then', 'if false then'],
  },
  'function api.get_mitteilung(': {
    'what is asked about protected records is told': ['case when e.art is not null then e.frage end', 'e.frage'],
    'decisions take the lines of questions': ['order by g.frage is null, ', 'order by '],
  },
  'function api.get_frage_mail(': {
    'what is decided is asked by jobs of the last release': [' and private.get_frage(s) is not null', ''],
  },
  'function api.sweep_konto(': {
    'what waits for its mail is forgotten': ['o.mail is not null and ', ''],
  },
  'function private.mandant_before_truncate(': {
    'restrictions to tenants go with all tenants': ['if exists (select from portal.nutzer_mandant) then', 'if false then'],
  },
};

const importBreakages: typeof breakages = {
  'function api.create_sichtbeobachtung_of_import(': {
    'places that were not checked are stored': ["then 'GBIET'", 'then null'],
    'days that were not checked are stored': ["then 'DATUM'", 'then null'],
    'sensitive species are protected nowhere': ['where am.sensibel)', 'where false)'],
    'protection of a species is forgotten': ['coalesce(k.schutz, ', 'coalesce(null::smallint, '],
    'a species is sensitive at no place': ['coalesce(k.sensible_art, false)', 'false'],
    "the recorder's mark counts only for sensitive species": ['private.to_eigener_schutz(t.sensibel)', '0::smallint'],
    'the place that lists search is the true one': ['private.to_shown_point(t.schutz, t.point, t.raster_point)', 't.point'],
    'records do not keep the guid that they had': ['coalesce(t.guid, ', 'coalesce(null, '],
    'text for lists is kept of all records': ['private.is_shown_to_all(t.bereich, t.status)', 'true'],
    'whoever writes after an import derives nothing': [
      "set_config('portal.abgeleitet', '', true)",
      "set_config('portal.x', '', true)",
    ],
  },
};

// What is kept of a part of everything, while something changes there.
const keptBreakages: typeof breakages = {
  'function private.abgleich_after_write()': {
    'where something was shown before is no change': ['array_agg(distinct private.to_block(o.cell_x, o.cell_y)) || ', ''],
    'where something is shown now is no change': [' || array_agg(distinct private.to_block(n.cell_x, n.cell_y))', ''],
    'what is deleted is no change': [
      "select coalesce(array_agg(o.id), '{}'), array_agg(distinct private.to_block(o.cell_x, o.cell_y))",
      "select coalesce(array_agg(o.id), '{}'), '{}'::integer[]",
    ],
  },
  'function private.list_block(': {
    'a box has the blocks of one corner': ['generate_series(v_left, v_right)', 'generate_series(v_left, v_left)'],
  },
  'function api.list_block_of_filter(': {
    'a tenant has the blocks of one point': [
      'public.st_envelope(m.boundary)',
      'public.st_startpoint(public.st_exteriorring(public.st_geometryn(m.boundary, 1)))',
    ],
  },
  'function private.count_version(': {
    'a change of the catalogue is nowhere': ['else array[private.ueberall()] end', "else '{}' end"],
  },
  'function api.get_stand_gezeigt_in(': {
    'what changes anywhere changes nowhere': [' || private.ueberall()', ''],
  },
};

const mutantsOf = (broken: typeof breakages, about = ''): Mutant[] =>
  Object.entries(broken).flatMap(([within, ways]) =>
    Object.entries(ways).map(([name, [from, to]]) => ({ name: about + name, within, from, to })),
  );

export const mutants = [
  ...mutantsOf(breakages),
  ...mutantsOf(fileBreakages, 'files: '),
  ...mutantsOf(deskBreakages, 'desk: '),
  ...mutantsOf(mailBreakages, 'mails: '),
  ...mutantsOf(importBreakages, 'imports: '),
  ...mutantsOf(keptBreakages, 'kept: '),
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
