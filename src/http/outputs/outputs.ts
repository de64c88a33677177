// What stands beside the interface (docs/decisions.md, O0.5, O1): mirrors, maps, GIS programs, files to publish.
import { Hono } from 'hono';
import type { Deps, Env } from '../context.ts';
import type { AnswerCache } from '../wire/answer-cache.ts';
import { abgleichRoutes } from './abgleich.ts';
import { answerOutput } from './answer-output.ts';
import { atlasRoutes } from './atlas.ts';
import { exportRoutes } from './export/export-routes.ts';
import { karteRoutes } from './karte.ts';
import { ogcRoutes } from './ogc/ogc-routes.ts';
import { pageFileRoutes } from './page-files.ts';
import { phaenologieRoutes } from './phaenologie.ts';
import { hinweisRoutes } from './pruefung/hinweise.ts';
import { pruefungRoutes } from './pruefung/pruefung-routes.ts';
import { pruefungSeiteRoutes } from './pruefung/seite.ts';
import { tileRoutes } from './tiles.ts';

/** Where outputs are: errors there are problem details. */
export const isOutput = (path: string) => /^\/(?:abgleich|atlas|export|karte|ogc|pruefung|tiles)(?:\/|$)/.test(path);

/** @param answers where answers are kept */
export function outputRoutes(deps: Deps, answers: AnswerCache): Hono<Env> {
  const conditionally = answerOutput(deps, answers);
  return new Hono<Env>()
    .route('/', abgleichRoutes(deps))
    .route('/', ogcRoutes(deps))
    .route('/', tileRoutes(deps, conditionally))
    .route('/', phaenologieRoutes(deps, conditionally))
    .route('/', atlasRoutes(deps, conditionally))
    .route('/', exportRoutes(deps))
    .route('/', hinweisRoutes(deps))
    .route('/', pruefungRoutes(deps))
    .route('/', pruefungSeiteRoutes(deps))
    .route('/', karteRoutes(deps))
    .route('/', pageFileRoutes());
}
