import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { SaveSlots } from './save-slots.ts';
import { SyncedRecords } from './synced-records.ts';
import { freshFolders } from './testing/folder.ts';
import { bundled, runScript } from './testing/processes.ts';

const freshFolder = freshFolders();
const parse = async (bytes: Buffer) => JSON.parse(bytes.toString());

/** Runs the script in two processes at once. `args` are the paths of the bundled module and of the data, and the number of the process. */
async function inTwoProcesses(module: string, data: string, script: string): Promise<readonly string[]> {
  const file = await bundled(new URL(module, import.meta.url), freshFolder());
  const head = `
    const [href, data, number] = process.argv.slice(1);
    const parse = async (bytes) => JSON.parse(bytes.toString());
    const module = await import(href);`;
  const runs = await Promise.all(
    [0, 1].map((number) => runScript(head + script, [pathToFileURL(file).href, data, String(number)])),
  );
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  return runs.map(({ output }) => output);
}

test('SaveSlots: keeps every confirmed save of two processes', async () => {
  const path = join(freshFolder(), 'saves.jsondb');
  await inTwoProcesses(
    './save-slots.ts',
    path,
    `const slots = new module.SaveSlots({ path: data, parse, warn: console.log, now: () => new Date() });
     for (let turn = 0; turn < 24; turn++) {
       const slot = Number(number) * 6 + (turn % 6);
       const title = String(turn);
       await slots.save(slot, { title, format: '', data: 'x' });
       if ((await slots.titles())[slot] !== title) throw new Error('lost ' + slot);
     }`,
  );
  const slots = new SaveSlots({ path, parse, warn: () => undefined, now: () => new Date(0) });
  const titles = ['18', '19', '20', '21', '22', '23'];
  expect(await slots.titles()).toEqual([...titles, ...titles]);
});

test('SyncedRecords: of two processes that make the same new record, one is told that it is saved', async () => {
  const folder = join(freshFolder(), 'saves.records');
  const outputs = await inTwoProcesses(
    './synced-records.ts',
    folder,
    `const records = new module.SyncedRecords({ folder: data, parse });
     const saved = [];
     for (let turn = 0; turn < 20; turn++) {
       const name = { kind: 'chats', id: 'chat' + turn };
       if ((await records.save(name, 0, number)).saved) saved.push(turn);
     }
     console.log(JSON.stringify(saved));`,
  );
  const saved = outputs.flatMap((output) => JSON.parse(output) as number[]);
  expect(saved.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, turn) => turn));
  const { records } = await new SyncedRecords({ folder, parse }).list();
  expect(records).toHaveLength(20);
  expect(new Set(records.map(({ revision }) => revision)).size).toBe(20);
});
