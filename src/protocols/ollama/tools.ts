import type { Tool } from '../../chat/messages.ts';
import { isAbsent, isObject, optionalList, readObject, wrong } from '../fields/readers.ts';
import { refuseNames } from '../tools.ts';

const noParameters = { type: 'object', properties: {} } as const;

export function decodeTools(value: unknown): readonly Tool[] {
  const tools = (optionalList(value, 'tools') ?? []).map((entry, index) => decodeTool(entry, `tools[${index}]`));
  refuseNames(
    tools.map(({ name }) => name),
    'tools',
  );
  return tools;
}

function decodeTool(entry: unknown, where: string): Tool {
  const { type, function: sent } = readObject(entry, where);
  if (!isAbsent(type) && type !== '' && type !== 'function') {
    throw wrong(`${where}.type`, '"function"');
  }
  const { name, description, parameters } = readObject(sent, `${where}.function`);
  if (typeof name !== 'string' || name === '') {
    throw wrong(`${where}.function.name`, 'a name');
  }
  if (!isAbsent(parameters) && !isObject(parameters)) {
    throw wrong(`${where}.function.parameters`, 'a JSON schema');
  }
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    parameters: isObject(parameters) && Object.keys(parameters).length > 0 ? parameters : noParameters,
  };
}
