// GET /medien/{name}: stored photos and sound files (D3.20).
import { getMedium } from '../../db/medium.ts';
import { isMediumName } from '../../media/name.ts';
import type { Deps } from '../context.ts';
import { mediumQuery, readSignature } from '../media/address.ts';
import { serveMedium } from '../media/serve.ts';
import { PortalError } from '../wire/portal-error.ts';
import { type Route, route } from './route.ts';

export function medienRoutes(deps: Deps): Route[] {
  const { sql, secretKey } = deps;
  return [
    route(deps, {
      path: '/medien/{name}',
      operationId: 'getMedium',
      tag: 'Beobachtungen',
      summary: 'Foto oder Tonaufnahme laden',
      description:
        'Die Adresse steht in `foto`, `foto_2`, `foto_3`, `biotopfoto` oder `audio` einer Beobachtung. Zu freigegebenen öffentlichen führt sie alle; sonst gilt sie 15 Minuten und nur, solange das Konto die Beobachtung sehen darf. Teile mit `Range`.',
      auth: 'none',
      query: mediumQuery,
      record: 'Datei',
      shape: 'file',
      errors: ['nicht_gefunden'],
      examples: [{ summary: 'Unbekannte Datei', path: { name: '00000000000000000000000000000000.jpg' }, status: 404 }],
      async handle({ c, tenant, query, reads }) {
        const name = c.req.param('name') ?? '';
        if (!isMediumName(name)) throw new PortalError('nicht_gefunden');
        const reader = readSignature(query, secretKey, name);
        // What is shown to somebody alone may have come a moment ago: a replica need not know of it yet.
        const isReleased = await getMedium(reader === null ? reads : sql, tenant.id, reader, name);
        return serveMedium(c, deps, name, isReleased);
      },
    }),
  ];
}
