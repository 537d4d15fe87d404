"""Say what is wrong with three copies of an image, and where.

Run it with ``python examples/diagnose_copies.py``.
"""

import llise

reference = llise.datasets.reference()[128:384, 128:384]
copies = [
    reference,
    llise.distortions.apply(reference, "blur", mse=120),
    llise.distortions.apply(reference, "impulse_noise", mse=300, random_state=1),
]
for diagnosis in llise.diagnose(reference, copies):
    severity = ", ".join(f"{kind} {mse:.0f}" for kind, mse in diagnosis.severity.items())
    rows, cols = diagnosis.block_grid
    print(f"{' + '.join(diagnosis.verdict):15} confidence {diagnosis.confidence:.2f}  severity: {severity or 'none'}")
    print(f"{'':15} {rows}x{cols} blocks, PSNR {diagnosis.psnr:.1f} dB, SSIM {diagnosis.ssim:.3f}")
