import { join } from 'node:path';

export function packageFolder(packsFolder: string, name: string): string {
  return join(packsFolder, 'node_modules', name);
}
