import { liveServers } from '../live/server.ts';
import { faultGroups } from './groups.ts';
import { runFaults } from './run-faults.ts';

// One row of each group; `npm run test:faults` runs all of them.
runFaults(faultGroups(liveServers()), { short: true });
