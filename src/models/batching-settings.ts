import type { Settings } from '../config/flags.ts';
import type { BatchingSettings } from '../queue/batching.ts';

/** What decides about sharing the engine, of all that the server was started with. */
export function batchingSettings(settings: Settings): BatchingSettings {
  return {
    parallelRequests: settings.parallelrequests,
    batchAll: settings.batchall,
    contextShift: !settings.noshift,
    smartContext: settings.smartcontext,
    smartCache: settings.smartcache > 0,
    draft: settings.draftmodel !== '' || settings.usemtp,
    guidance: settings.enableguidance,
  };
}
