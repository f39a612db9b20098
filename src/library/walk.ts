import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const deepest = 6;
/** More than any collection of models has, and few enough to be looked through in a moment. */
const mostEntries = 50_000;

/** All files below a folder that have this ending; none where the folder is not there or cannot be read. */
export async function filesBelow(folder: string, ending: RegExp): Promise<readonly string[]> {
  const found: string[] = [];
  let seen = 0;
  const look = async (place: string, depth: number): Promise<void> => {
    const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      seen += 1;
      if (seen > mostEntries) return;
      const path = join(place, entry.name);
      if (entry.isDirectory()) {
        if (depth < deepest && !entry.name.startsWith('.')) await look(path, depth + 1);
      } else if (ending.test(entry.name)) found.push(path);
    }
  };
  await look(folder, 0);
  return found;
}
