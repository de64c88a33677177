// All operations of the interface, in the order in which the reader of the documentation meets them.
import type { Deps } from '../context.ts';
import { artenRoutes } from './arten.ts';
import { loginRoutes } from './login.ts';
import { medienRoutes } from './medien.ts';
import { nutzerRoutes } from './nutzer.ts';
import { protokollRoutes } from './protokoll.ts';
import { registerRoutes } from './register.ts';
import type { Route } from './route.ts';
import { sichtbeobachtungenRoutes } from './sichtbeobachtungen.ts';

export function listRoutes(deps: Deps): Route[] {
  return [
    ...loginRoutes(deps),
    ...registerRoutes(deps),
    ...artenRoutes(deps),
    ...sichtbeobachtungenRoutes(deps),
    ...medienRoutes(deps),
    ...protokollRoutes(deps),
    ...nutzerRoutes(deps),
  ];
}
