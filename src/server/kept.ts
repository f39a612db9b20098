import type { Settings } from '../config/flags.ts';
import type { ClientServices } from './client-services.ts';
import { openDocumentServices } from './document-services.ts';
import { openOwnFiles } from './file-services.ts';
import { openMemories } from './memories.ts';

/** What the server keeps for its clients without any flag: files, memories and documents. */
export function openKept(settings: Settings, clients: () => ClientServices, warn: (sentence: string) => void) {
  const documents = openDocumentServices(settings, clients, warn);
  const services: ClientServices = {
    ...openOwnFiles(settings, clients, { warn }),
    memories: openMemories(warn),
    ...documents?.clients,
  };
  return { services, documents };
}
