import type { Tool } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import { isAbsent, isObject } from '../controls/fields.ts';
import { refuseNames } from '../tools.ts';

const noParameters = { type: 'object', properties: {} } as const;

export function decodeTools(value: unknown): readonly Tool[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw new AppError('invalid-field', { field: 'tools', expected: 'an array' });
  const tools = value.map((entry: unknown, index) => decodeTool(entry, `tools[${index}]`));
  refuseNames(
    tools.map(({ name }) => name),
    'tools',
  );
  return tools;
}

function decodeTool(entry: unknown, where: string): Tool {
  if (!isObject(entry)) throw new AppError('invalid-field', { field: where, expected: 'an object' });
  if (!isAbsent(entry.type) && entry.type !== '' && entry.type !== 'function') {
    throw new AppError('invalid-field', { field: `${where}.type`, expected: '"function"' });
  }
  const target = entry.function;
  if (!isObject(target)) throw new AppError('invalid-field', { field: `${where}.function`, expected: 'an object' });
  const { name, description, parameters } = target;
  if (typeof name !== 'string' || name === '') {
    throw new AppError('invalid-field', { field: `${where}.function.name`, expected: 'a name' });
  }
  if (!isAbsent(parameters) && !isObject(parameters)) {
    throw new AppError('invalid-field', { field: `${where}.function.parameters`, expected: 'a JSON schema' });
  }
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    parameters: isObject(parameters) && Object.keys(parameters).length > 0 ? parameters : noParameters,
  };
}
