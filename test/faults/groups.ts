import type { StartServer } from '../live/server.ts';
import type { FaultGroup } from './fault.ts';
import { upstreams } from './rows/upstreams.ts';
import { workers } from './rows/workers.ts';

export const faultGroups = (start: StartServer): readonly FaultGroup[] => [workers(start), upstreams(start)];
