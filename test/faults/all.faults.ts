import { liveServers } from '../live/server.ts';
import { faultGroups } from './groups.ts';
import { runFaults } from './run-faults.ts';

// `npm run test:faults`; one row: `npm run test:faults -- -t "text engine killed while idle"`.
runFaults(faultGroups(liveServers()));
