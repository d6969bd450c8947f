#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "te/Dialect/Quant/IR/Quant.h"
int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<te::quant::TEQuantDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "te-opt", registry));
}
