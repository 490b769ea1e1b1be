/** A fault that the synthetic server answers. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly fault: string;
  /** Its fields, as XML. */
  readonly fields: string;

  constructor(fault: string, fields = '') {
    super(fault);
    this.fault = fault;
    this.fields = fields;
  }
}
