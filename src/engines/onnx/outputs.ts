import { bytes, readMessage, textOf, writeMessage } from './protobuf.ts';

/** Field numbers of the messages of an ONNX file. */
const model = { graph: 7 } as const;
const graph = { output: 12 } as const;
const valueInfo = { name: 1 } as const;

/** The model with these outputs only. The memory of unused outputs would be allocated for the whole run. */
export function keepOutputs(file: Uint8Array, names: readonly string[]): Uint8Array {
  const fields = readMessage(file).map((field) => {
    if (field.number !== model.graph || field.type !== 'bytes') return field;
    const kept = readMessage(field.value).filter(({ number, value }) => {
      return number !== graph.output || names.includes(nameOf(value as Uint8Array));
    });
    return bytes(model.graph, writeMessage(kept));
  });
  return writeMessage(fields);
}

function nameOf(value: Uint8Array): string {
  const name = readMessage(value).find(({ number }) => number === valueInfo.name)?.value;
  return name instanceof Uint8Array ? textOf(name) : '';
}
