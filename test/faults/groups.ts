import type { StartServer } from '../live/server.ts';
import type { FaultGroup } from './fault.ts';
import { batches } from './rows/batches.ts';
import { clients } from './rows/clients.ts';
import { disks } from './rows/disks.ts';
import { documents } from './rows/documents.ts';
import { enginePrograms } from './rows/engine-programs.ts';
import { keyFile } from './rows/key-file.ts';
import { models } from './rows/models.ts';
import { stores } from './rows/stores.ts';
import { toolServers } from './rows/tool-servers.ts';
import { upstreams } from './rows/upstreams.ts';
import { workers } from './rows/workers.ts';

/** Every fault that is tried. */
export const faultGroups = (start: StartServer): readonly FaultGroup[] => [
  workers(start),
  models(start),
  disks(start),
  stores(start),
  documents(start),
  batches(start),
  keyFile(start),
  upstreams(start),
  enginePrograms(start),
  toolServers(start),
  clients(start),
];
