// /sichtbeobachtungen
import {
  createSichtbeobachtung,
  deleteSichtbeobachtung,
  getSichtbeobachtung,
  listSichtbeobachtung,
  mediumFields,
  updateSichtbeobachtung,
} from '../../db/sichtbeobachtung.ts';
import type { Deps } from '../context.ts';
import { addressMedia } from '../media/address.ts';
import { receiveMedia, removeMedia } from '../media/receive.ts';
import { formErrors, meaning, own, unknown } from '../openapi/operation.ts';
import { type Output, type pageFields, restrictFields } from '../wire/input.ts';
import { PortalError, sentences } from '../wire/portal-error.ts';
import { readPathId } from '../wire/query.ts';
import { override, type Route, route } from './route.ts';
import {
  changeSichtbeobachtungFields,
  createSichtbeobachtungFields,
  sichtbeobachtungenFilters,
} from './sichtbeobachtung-fields.ts';

const sighting = { art: '2', lat: '5530000', lon: '420000', datum: '1.9.2026', anzahl: '2', bemerkung: 'singt im Garten' };
const sridNumbers = { 'EPSG:25832': 25832, 'EPSG:4326': 4326, 'EPSG:3857': 3857 } as const;

export function sichtbeobachtungenRoutes(deps: Deps): Route[] {
  const { sql } = deps;
  const put = route(deps, {
    method: 'put',
    path: '/sichtbeobachtungen/{id}',
    operationId: 'updateSichtbeobachtung',
    tag: 'Beobachtungen',
    summary: 'Beobachtung ändern, veröffentlichen oder prüfen',
    description:
      'Wer gemeldet hat, ändert private Beobachtungen und mit bereich auch, was öffentlich ist, solange sie nicht freigegeben ist; medien_lizenz allein jederzeit. Experten und Administratoren setzen bei fremden öffentlichen status und bemerkung. Was nicht geschickt wird, bleibt; lat und lon nur zusammen.',
    auth: 'required',
    form: changeSichtbeobachtungFields,
    files: mediumFields,
    record: 'Kennung',
    shape: 'single',
    errors: [...formErrors, 'nicht_erlaubt', 'nicht_gefunden', 'doppelte_meldung', 'zu_oft'],
    examples: [
      { summary: 'Veröffentlichen', as: 'nutzer', path: own, form: { bereich: 'oeffentlich' }, status: 200 },
      { summary: 'Anzahl ändern', as: 'nutzer', path: own, form: { anzahl: '3' }, status: 200 },
      { summary: 'Freigeben', as: 'expert', path: own, form: { status: 'freigegeben', bemerkung: 'schön!' }, status: 200 },
      { summary: 'Nach der Freigabe', as: 'nutzer', path: own, form: { anzahl: '3' }, status: 403 },
      { summary: 'lat ohne lon', as: 'nutzer', path: own, form: { lat: '5530000' }, status: 400 },
      { summary: 'Unbekannte Beobachtung', as: 'nutzer', path: unknown, form: { anzahl: '3' }, status: 404 },
    ],
    async handle(asked) {
      const { c, tenant, reader } = asked;
      const id = readPathId(c.req.param('id'));
      const removed = await receiveMedia(c, deps, reader, ({ fields, keep }) => {
        const { srid = 'EPSG:25832', ...input } = asked.checkForm(fields);
        // D3.8: a place is changed as a whole.
        if ((input.lat === undefined) !== (input.lon === undefined)) {
          const name = input.lat === undefined ? 'lat' : 'lon';
          throw new PortalError('ungueltiger_parameter', { [name]: sentences.both(name, name === 'lat' ? 'lon' : 'lat') });
        }
        // Without a place it says nothing.
        const change = { ...input, ...(input.lat !== undefined && { srid: sridNumbers[srid] }) };
        return keep((names) =>
          updateSichtbeobachtung(sql, tenant.id, reader, c.get('tokenHash') ?? null, id, { ...change, ...names }),
        );
      });
      await removeMedia(deps, removed);
      return JSON.stringify([{ id }]);
    },
  });
  const remove = route(deps, {
    method: 'delete',
    path: '/sichtbeobachtungen/{id}',
    operationId: 'deleteSichtbeobachtung',
    tag: 'Beobachtungen',
    summary: 'Beobachtung löschen',
    description: 'Wer gemeldet hat, solange sie nicht freigegeben ist; Administratoren jede öffentliche.',
    auth: 'required',
    record: 'Kennung',
    shape: 'single',
    errors: ['nicht_erlaubt', 'nicht_gefunden'],
    examples: [
      { summary: 'Eigene', as: 'nutzer', path: own, status: 200 },
      { summary: 'Nach der Freigabe', as: 'nutzer', path: own, status: 403 },
      { summary: 'Unbekannte Beobachtung', as: 'nutzer', path: unknown, status: 404 },
      { summary: 'Ohne Anmeldung', path: own, status: 401 },
    ],
    async handle({ c, reader }) {
      const id = readPathId(c.req.param('id'));
      await removeMedia(deps, await deleteSichtbeobachtung(sql, reader, c.get('tokenHash') ?? null, id));
      return JSON.stringify([{ id }]);
    },
  });
  return [
    route(deps, {
      path: '/sichtbeobachtungen',
      operationId: 'listSichtbeobachtungen',
      tag: 'Beobachtungen',
      summary: 'Beobachtungen auflisten und suchen',
      description:
        'Die neueste zuerst. Ohne Anmeldung: veröffentlichte und freigegebene. Angemeldet: alle veröffentlichten; die eigenen privaten mit bereich=privat, alle eigenen mit bereich=persoenlich. Wer nicht Experte, Administrator oder selbst meldend ist, sieht geschützte Funde nur in der Mitte ihrer Rasterzelle; bbox sucht dann dort.',
      auth: 'optional',
      query: sichtbeobachtungenFilters,
      meanings: {
        bereich:
          'Öffentliche Beobachtungen, eigene private (`privat`) oder alle eigenen (`persoenlich`); die beiden letzten nur angemeldet.',
        status: 'Stand der Prüfung; ohne Anmeldung nur `freigegeben`.',
      },
      record: 'Sichtbeobachtung',
      shape: 'list',
      caching: 'gezeigt',
      examples: [
        { summary: 'Die drei neuesten', query: { limit: '3' }, status: 200 },
        { summary: 'Alle eigenen', as: 'nutzer', query: { bereich: 'persoenlich' }, status: 200 },
        {
          summary: 'Ausschnitt und Zeitraum',
          query: { bbox: '400000,5500000,452000,5560000', datum_von: '1.1.2020' },
          status: 200,
        },
        { summary: 'Name mit Platzhalter', query: { titel_deutsch: 'a%' }, status: 200 },
        { summary: 'Kein Tag', query: { datum_von: '31.2.2026' }, status: 400 },
        { summary: 'Eigene ohne Anmeldung', query: { bereich: 'privat' }, status: 401 },
      ],
      async handle({ c, tenant, reader, query, beforeId, reads }) {
        const filter = toFilter(query);
        const page = await listSichtbeobachtung(reads, tenant.id, reader, filter, beforeId, query.limit);
        return { ...page, rows: addressMedia(c, deps, page.rows) };
      },
    }),
    route(deps, {
      method: 'post',
      path: '/sichtbeobachtungen',
      operationId: 'createSichtbeobachtung',
      tag: 'Beobachtungen',
      summary: 'Beobachtung melden',
      description:
        'Gleiche Art, gleicher Ort und gleicher Tag desselben Kontos: 409 mit der vorhandenen Nummer. Fotos werden verkleinert, und alles außer dem Bild wird aus ihnen entfernt.',
      auth: 'required',
      form: createSichtbeobachtungFields,
      files: mediumFields,
      meanings: {
        bemerkung: 'Bemerkung.',
        datum: 'Tag der Beobachtung, `TT.MM.JJJJ`, vom 01.01.1800 bis heute. Ohne Angabe oder leer: heute.',
      },
      record: 'NeueSichtbeobachtung',
      shape: 'single',
      status: 201,
      errors: [...formErrors, 'doppelte_meldung', 'zu_oft'],
      examples: [
        { summary: 'Neue Beobachtung', as: 'nutzer', form: sighting, status: 201 },
        { summary: 'Noch einmal dieselbe', as: 'nutzer', form: sighting, status: 409 },
        { summary: 'Ohne Ort', as: 'nutzer', form: { art: '2' }, status: 400 },
        { summary: 'Ohne Anmeldung', form: sighting, status: 401 },
      ],
      async handle(asked) {
        const { c, tenant, reader } = asked;
        const created = await receiveMedia(c, deps, reader, ({ fields, keep }) => {
          const input = asked.checkForm(fields);
          const record = { ...input, srid: sridNumbers[input.srid] };
          return keep((names) =>
            createSichtbeobachtung(sql, tenant.id, reader, c.get('tokenHash') ?? null, { ...record, ...names }),
          );
        });
        const url = `${c.get('origin')}/api/v2/sichtbeobachtungen/${created.id}`;
        c.header('Location', url);
        return JSON.stringify([{ ...created, url }]);
      },
    }),
    route(deps, {
      path: '/sichtbeobachtungen/{id}',
      operationId: 'getSichtbeobachtung',
      tag: 'Beobachtungen',
      summary: 'Eine Beobachtung lesen',
      description: 'Unbekannte Beobachtungen und solche, die dieses Konto nicht sehen darf: 404.',
      auth: 'optional',
      query: restrictFields,
      record: 'SichtbeobachtungDetail',
      shape: 'single',
      caching: 'gezeigt',
      errors: ['nicht_gefunden'],
      examples: [
        { summary: 'Ohne Anmeldung', path: own, status: 200 },
        { summary: 'Angemeldet', as: 'expert', path: own, status: 200 },
        { summary: 'Unbekannte Beobachtung', path: unknown, status: 404 },
      ],
      async handle({ c, tenant, reader, reads }) {
        const record = await getSichtbeobachtung(reads, tenant.id, reader, readPathId(c.req.param('id')));
        return { ...record, value: addressMedia(c, deps, record.value) };
      },
    }),
    put,
    remove,
    override([put, remove], {
      operationId: 'overrideSichtbeobachtung',
      summary: 'PUT oder DELETE als POST',
      description: 'Für Clients, die kein PUT oder DELETE senden können: X-HTTP-Method-Override nennt, was gemeint ist.',
      examples: [
        { summary: 'Veröffentlichen', as: 'nutzer', path: own, form: { bereich: 'oeffentlich' }, ...meaning('PUT'), status: 200 },
        { summary: 'Löschen', as: 'nutzer', path: own, ...meaning('DELETE'), status: 200 },
        { summary: 'Andere Methode', as: 'nutzer', path: own, ...meaning('PATCH'), status: 400 },
        { summary: 'Ohne X-HTTP-Method-Override', as: 'nutzer', path: own, form: { anzahl: '3' }, status: 405 },
      ],
    }),
  ];
}

function toFilter(query: Output<typeof sichtbeobachtungenFilters & typeof pageFields>) {
  const { limit, restrict, cursor, lanis_rlp_osiris_art_id, lanis_rlp_osiris_artengruppe_id, ...asked } = query;
  return {
    ...asked,
    legacy_regional_art_id: oldOrNew(query, 'lanis_rlp_osiris_art_id', 'legacy_regional_art_id'),
    legacy_regional_artengruppe_id: oldOrNew(query, 'lanis_rlp_osiris_artengruppe_id', 'legacy_regional_artengruppe_id'),
  };
}

// D1.4, D6.3: the deprecated parameters have an even older name each.
function oldOrNew<O extends string, N extends string>(
  input: { [name in O | N]?: number | undefined },
  oldName: O,
  newName: N,
): number | undefined {
  if (input[oldName] !== undefined && input[newName] !== undefined && input[oldName] !== input[newName]) {
    throw new PortalError('ungueltiger_parameter', { [newName]: sentences.twice(newName) });
  }
  return input[newName] ?? input[oldName];
}
