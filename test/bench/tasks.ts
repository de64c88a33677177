// What is measured otherwise than by requests: jobs and commands, by their own figures.
import type { Sql } from '../../src/db/client.ts';
import { measureBlock } from './block.ts';
import { measureExport } from './export.ts';
import { measureImport } from './import.ts';
import { measureKept } from './kept.ts';
import { measurePhotos } from './photos.ts';

export interface Figure {
  /** What was measured. */
  what: string;
  value: number;
  unit: string;
}

export interface TaskContext {
  sql: Sql;
  databaseUrl: string;
  /** Sightings in the database. */
  size: number;
}

export interface Task {
  name: string;
  /** Removes what it stored, as far as that has ids beyond the generated ones: the run does it. */
  run(context: TaskContext): Promise<Figure[]>;
}

export const tasks: Task[] = [
  { name: 'import', run: measureImport },
  { name: 'export', run: measureExport },
  { name: 'kept', run: measureKept },
  { name: 'block', run: measureBlock },
  { name: 'photos', run: measurePhotos },
];
