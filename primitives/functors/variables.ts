import { isRecord } from '../checks/given.ts';
import type { Local, Operand, ScalarType } from '../ir/ir.ts';
import { append, functorError, newLocal, use } from './recorder.ts';
import { type Input, isVariable, operandOf, requireOperand, Value, Variable } from './value.ts';

/** A record of values of a functor, whose fields may be records. */
export type RecordOfValues = { readonly [field: string]: Value<ScalarType> | RecordOfValues };

/** The inputs for the fields of a record: each may be a functor value or a JavaScript literal. */
export type InputsFor<R> = {
  readonly [K in keyof R]: R[K] extends Value<infer T> ? Input<T> : InputsFor<R[K]>;
};

/** What `Var` returns: a variable for a value, a record of variables for a record of values. */
export type VariableOf<V> = V extends Value<infer T> ? Variable<T> : VariablesOf<V>;

/** A record of variables, with a method that sets all of them at once. */
export type VariablesOf<R> = { readonly [K in keyof R]: VariableOf<R[K]> } & {
  /** Sets all fields. The values are computed before the first field changes. */
  set(values: InputsFor<R>): void;
};

/** Declares a variable of the IR. */
export function declare(value: Operand): Local {
  const local = newLocal(value.type);
  append({ kind: 'var', local, value: use(value) });
  return local;
}

type Variables = { readonly [field: string]: Variable<ScalarType> | Variables };

/** Declares a variable for a value, or one for each field of a record. `path` names the value in errors. */
export function variableOf(value: unknown, path: string): Variable<ScalarType> | Variables {
  if (value instanceof Value || !isRecord(value)) return new Variable(declare(requireOperand('Var', path, value)));
  if (Object.keys(value).includes('set')) {
    const sentence = 'A record of variables has a method set, so it cannot have a field of this name.';
    throw functorError('argument', sentence, 'Give the field another name.');
  }
  const fields = Object.entries(value).map(([name, field]) => [name, variableOf(field, `${path}.${name}`)]);
  const variables: Variables = Object.fromEntries(fields);
  // The method is no field of the record where the record is returned or passed on.
  return Object.defineProperty(variables, 'set', { value: (values: unknown) => setAll(variables, values) });
}

function setAll(variables: Variables, values: unknown): void {
  const targets = pairs(variables, values, '').map(([variable, given]) => {
    const operand = operandOf(variable.operand.type, given);
    return { local: variable.operand as Local, value: isVariable(given) ? declare(operand) : operand };
  });
  for (const { local, value } of targets) append({ kind: 'set', local: use(local), value: use(value) });
}

/** Each variable of a record with the input for it. */
function pairs(variables: Variables, values: unknown, path: string): [Variable<ScalarType>, Input<ScalarType>][] {
  const given = isRecord(values) && !(values instanceof Value) ? values : {};
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(variables, name));
  if (stranger !== undefined) {
    throw functorError('extra-field', `The record has no variable ${path}${stranger}.`, 'Leave it out.');
  }
  return Object.entries(variables).flatMap(([name, variable]): [Variable<ScalarType>, Input<ScalarType>][] => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined) {
      const remedy = 'Give every field, or set the variable of one field alone.';
      throw functorError('missing-field', `set is missing the value of ${path}${name}.`, remedy);
    }
    if (variable instanceof Variable) return [[variable, value as Input<ScalarType>]];
    return pairs(variable, value, `${path}${name}.`);
  });
}
